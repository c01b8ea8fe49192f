import { randomBytes } from 'node:crypto'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * `prj_` + 26 characters: 48 bits of time in milliseconds and 80 random bits in lower-case Crockford base32. Ids sort by
 * creation, which lists and their cursors rely on: those that one process makes in the same millisecond count up from the
 * first of it. `given` replaces the random bytes:
 * at least 10, used as they are.
 */
export function newId(prefix: string, now: Date | number = Date.now(), given?: Uint8Array): string {
  const random = given ?? randomBytes(10)
  if (random.length < 10) throw new RangeError('An id needs 10 random bytes.')
  const time = BigInt(Number(now))
  let chance = 0n
  for (const byte of random.subarray(0, 10)) chance = (chance << 8n) | BigInt(byte)
  // The step is random too, so that the next id cannot be guessed from this one.
  if (given === undefined && time === last.time && last.chance < overflowing)
    chance = last.chance + 1n + (chance & 0xffff_ffffn)
  if (given === undefined) last = { time, chance }
  return `${prefix}_${base32(time, 10)}${base32(chance, 16)}`
}

let last = { time: -1n, chance: 0n }
/** So near the end, counting up would not fit in 80 bits. */
const overflowing = (1n << 80n) - (1n << 33n)

function base32(value: bigint, length: number): string {
  let text = ''
  for (let shift = BigInt(5 * (length - 1)); shift >= 0n; shift -= 5n) text += alphabet[Number((value >> shift) & 31n)]
  return text
}
