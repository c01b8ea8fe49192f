import type { Scope } from '@stackquay/contract'

/** Of whom a second factor is required. */
export const secondFactorRules = ['off', 'administrators', 'everyone'] as const
export type SecondFactorRule = (typeof secondFactorRules)[number]

export function isSecondFactorRequired(rule: SecondFactorRule, role: Scope): boolean {
  return rule === 'everyone' || (rule === 'administrators' && role === 'admin')
}

/**
 * Whoever has the password may guess codes: three of a million are right at a time. So many wrong ones in a row, and only a
 * browser that logged in before may go on, which is a chance of 1 in 3,000 for the whole life of a password.
 */
export const mostWrongCodes = 100
