import { randomBytes } from 'node:crypto'
import { hashOf } from '../token-value.ts'
import { base32 } from './totp.ts'

export const recoveryCodeCount = 10

/** 80 random bits each, so a plain hash keeps them safe and nobody guesses one: `abcd-efgh-ijkl-mnop`. */
export function newRecoveryCodes(): readonly string[] {
  return Array.from({ length: recoveryCodeCount }, () =>
    base32(randomBytes(10)).toLowerCase().match(/.{4}/g)!.join('-'),
  )
}

/** However it was copied: with or without hyphens and spaces, in any case. */
export function recoveryCodeHash(code: string): string {
  return hashOf(code.replace(/[\s-]/g, '').toLowerCase())
}
