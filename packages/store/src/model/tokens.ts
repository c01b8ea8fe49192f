import type { Scope } from '@stackquay/contract'
import type { UserRow } from './users.ts'

export interface TokenRow {
  readonly id: string
  readonly name: string
  readonly prefix: string
  readonly owner: string
  readonly scope: Scope
  readonly projects: readonly string[]
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly lastUsedAt: string | null
}

export interface KnownToken {
  readonly token: TokenRow
  readonly owner: Omit<UserRow, 'passwordHash'>
}

export interface TokenReader {
  /**
   * What `authenticate` would answer, in the same turn, when it is in memory and nothing was written since. Undefined when
   * it must be asked, as it always is of a database that cannot tell whether something was written.
   */
  recall(hash: string): KnownToken | undefined
  /**
   * One prepared look-up; on the path of every request. Unknown, revoked and expired tokens and those of a disabled or
   * deleted owner are not found. The scope is the token's own: the caller takes the lower of it and the owner's role.
   */
  authenticate(hash: string): Promise<KnownToken | null>
  of(owner: string, options: { limit: number; cursor?: string }): Promise<readonly TokenRow[]>
  find(id: string): Promise<TokenRow | null>
}

export interface TokenWriter {
  /** Throws `TakenError` when the owner has one of that name. */
  insert(token: {
    id: string
    hash: string
    prefix: string
    name: string
    owner: string
    scope: Scope
    projects: readonly string[]
    expiresAt: string | null
  }): Promise<TokenRow>
  delete(id: string): Promise<void>
  /** Written in batches by the caller: last use may lag a minute. */
  touch(uses: ReadonlyMap<string, string>): Promise<void>
}
