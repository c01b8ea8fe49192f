import type { Secret } from '@stackquay/contract'

export const factorKinds = ['totp', 'passkey'] as const
export type FactorKind = (typeof factorKinds)[number]

export interface PasskeyRow {
  readonly id: string
  readonly user: string
  readonly name: string
  /** What the authenticator calls it, as base64url. */
  readonly credential: string
  /** COSE, as base64url. */
  readonly publicKey: string
  /** How often it was used, as far as the authenticator counts. */
  readonly counter: number
  readonly transports: readonly string[]
  /** The host that it was made for: it works for no other. */
  readonly rpId: string
  readonly createdAt: string
  readonly lastUsedAt: string | null
}

export interface TotpRow {
  /** Null when it was sealed with another key, or damaged: no code is right then. */
  readonly secret: Secret | null
  /** The time step of the last code that was accepted: none up to it is accepted again. */
  readonly lastStep: number
  /** Wrong codes since the last right one. */
  readonly failures: number
  readonly createdAt: string
}

export interface SecondFactors {
  readonly totp: TotpRow | null
  readonly passkeys: readonly PasskeyRow[]
  /** How many recovery codes are left. */
  readonly recoveryCodes: number
}

export interface SecondFactorReader {
  of(user: string): Promise<SecondFactors>
  /** Without a transaction; recovery codes alone are none. */
  has(user: string): Promise<boolean>
  /** By user; people without one are not in it. */
  kinds(): Promise<ReadonlyMap<string, readonly FactorKind[]>>
  passkey(credential: string): Promise<PasskeyRow | null>
}

export interface SecondFactorWriter {
  /** Throws `TakenError` when there is one. */
  addTotp(totp: { user: string; secret: string; step: number }): Promise<void>
  /** False when a code of this step or a later one was accepted before. Forgets the failures. */
  useStep(user: string, step: number): Promise<boolean>
  countFailure(user: string): Promise<void>
  removeTotp(user: string): Promise<boolean>
  /** In place of all that there were. */
  putRecoveryCodes(user: string, hashes: readonly string[]): Promise<void>
  /** False when it is none, or was used. */
  useRecoveryCode(user: string, hash: string): Promise<boolean>
  /** Throws `TakenError` when it is known. */
  addPasskey(passkey: Omit<PasskeyRow, 'createdAt' | 'lastUsedAt'>): Promise<PasskeyRow>
  /** False when the counter did not grow, though the authenticator counts: there may be a copy of it. */
  usePasskey(id: string, counter: number): Promise<boolean>
  removePasskey(id: string): Promise<boolean>
  /** All of a user's, with the recovery codes. */
  removeAll(user: string): Promise<void>
}
