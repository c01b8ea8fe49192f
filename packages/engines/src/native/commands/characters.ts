/** How many of the first `most` bytes to take, so that no UTF-8 character is cut. Bytes that are not UTF-8 may be cut anywhere. */
export function lengthOfCharacters(bytes: Buffer, most: number): number {
  if (bytes.length <= most) return bytes.length
  const open = unfinished(bytes.subarray(0, most))
  return most - open > 0 ? most - open : most
}

/** Holds back a character that has only begun, until the rest of it comes. One for each stream. */
export function createCharacterJoiner(): { push(bytes: Buffer): Buffer; end(): Buffer } {
  let held: Buffer = Buffer.alloc(0)
  return {
    push(bytes) {
      const all = held.length === 0 ? bytes : Buffer.concat([held, bytes])
      const whole = all.length - unfinished(all)
      held = Buffer.from(all.subarray(whole))
      return all.subarray(0, whole)
    },
    end() {
      const rest = held
      held = Buffer.alloc(0)
      return rest
    },
  }
}

/** Length (0 to 3) of a character at the end that has begun and is not complete. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0b1100_0000) === 0b1000_0000) continue
    const length =
      byte >= 0xf0 && byte < 0xf8 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1
    return length > back ? back : 0
  }
  return 0
}
