import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

/**
 * `stq_`, 32 random base62 characters (190 bits), and the CRC-32 of all before it as 6 base62 characters: a typo is
 * refused without a look-up, and secret scanners can tell a real one. Only the SHA-256 is stored; with this much
 * randomness a slow hash would add nothing but time to every request.
 */
export function newTokenValue(): string {
  let body = prefix
  for (let index = 0; index < 32; index++) body += alphabet[randomInt(62)]
  return body + checksum(body)
}

export function isTokenValue(text: string): boolean {
  return shape.test(text) && checksum(text.slice(0, -6)) === text.slice(-6)
}

export function hashOf(secret: string): string {
  return hash('sha256', secret, 'hex')
}

/** What is shown of a token after its creation. */
export function shownPrefix(value: string): string {
  return value.slice(0, 8)
}

const prefix = 'stq_'
const shape = /^stq_[0-9A-Za-z]{38}$/
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let index = 0; index < 6; index++) {
    text = alphabet[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}
