/** Letters, digits, "_" and everything that is not ASCII. */
export function isWord(byte: number): boolean {
  return wordBytes[byte] === 1
}

export function isSpace(byte: number): boolean {
  return byte <= 32
}

/** Lines that are long are passed over at once; a call for each of many short ones would take longer than to look at every byte. */
export function newlines(bytes: Buffer, from: number, to: number): number {
  let count = 0
  let at = from
  for (let found = bytes.indexOf(10, at); found !== -1 && found < to; found = bytes.indexOf(10, at)) {
    count += 1
    at = found + 1
    if (count % sampleLines === 0 && at - from < count * longLine) return count + newlinesOfShort(bytes, at, to)
  }
  return count
}

const sampleLines = 32
const longLine = 100

function newlinesOfShort(bytes: Buffer, from: number, to: number): number {
  let count = 0
  for (let at = from; at < to; at += 1) if (bytes[at] === 10) count += 1
  return count
}

/** Where the byte is, at most `limit`. */
export function upTo(bytes: Buffer, byte: number, from: number, limit: number): number {
  const at = bytes.indexOf(byte, from)
  return at === -1 || at > limit ? limit : at
}

const wordBytes = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 128 || /\w/.test(String.fromCharCode(byte)) ? 1 : 0,
)
