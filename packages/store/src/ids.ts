import { randomBytes } from 'node:crypto'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * `prj_` + 26 characters: 48 bits of time in milliseconds and 80 random bits in lower-case Crockford base32. Ids made in
 * different milliseconds sort by creation, which lists and their cursors rely on. `random` must have at least 10 bytes.
 */
export function newId(prefix: string, now: Date | number = Date.now(), random: Uint8Array = randomBytes(10)): string {
  if (random.length < 10) throw new RangeError('An id needs 10 random bytes.')
  let chance = 0n
  for (const byte of random.subarray(0, 10)) chance = (chance << 8n) | BigInt(byte)
  return `${prefix}_${base32(BigInt(Number(now)), 10)}${base32(chance, 16)}`
}

function base32(value: bigint, length: number): string {
  let text = ''
  for (let shift = BigInt(5 * (length - 1)); shift >= 0n; shift -= 5n) text += alphabet[Number((value >> shift) & 31n)]
  return text
}
