import type { CopyIndex, Piece } from '../copy-format.ts'
import type { TargetAccess } from '../open-target.ts'
import type { CopySource } from '../send-copy.ts'
import type { TargetErrorCode } from '../target.ts'
import type { TargetKey } from '../target-key.ts'

/*
 * What the service and its copier say to each other, over the channel that Node makes for a child. The bytes of an archive go over the
 * copier’s standard input and output.
 */

/** First of all: what the copier is for. `retries`: what fails for a while is tried again, and told. */
export interface Purpose {
  readonly access: TargetAccess
  /** Null until the target has one. */
  readonly key: TargetKey | null
  readonly retries: boolean
}

/** What the copier is asked for, by name. */
export interface CopierCalls {
  check(): void
  setUpKey(passphrase: string | null): {
    readonly key: TargetKey
    readonly recoveryPassphrase: string | null
    readonly isNew: boolean
  }
  requireKey(): void
  restoreKey(): void
  find(backup: string): CopyIndex | null
  list(): { readonly found: readonly CopyIndex[]; readonly unreadable: readonly string[] }
  has(backup: string): boolean
  remove(backup: string): void
  removeLeftover(backup: string): void
  removeAbandoned(copied: string): number
  /** The archive is read from standard input. */
  send(source: Omit<CopySource, 'read'>, sent: ReadonlyMap<number, Piece>): CopyIndex
  /** The archive is written to standard output. */
  read(index: CopyIndex): void
}

export type CallName = keyof CopierCalls

export type ToCopier =
  | { readonly is: 'purpose'; readonly purpose: Purpose }
  | { readonly is: 'call'; readonly id: number; readonly name: CallName; readonly args: readonly unknown[] }
  | { readonly is: 'abort'; readonly id: number }
  /** What was noted is on the disk, or could not be. */
  | { readonly is: 'noted'; readonly error: string | null }

export type FromCopier =
  | { readonly is: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly is: 'failure'; readonly id: number; readonly error: CrossingError }
  | { readonly is: 'retry'; readonly error: CrossingError; readonly pauseMs: number }
  | { readonly is: 'first' }
  | { readonly is: 'piece'; readonly at: number; readonly piece: Piece }
  | { readonly is: 'bytes'; readonly bytes: number }

/** An error on its way to the other process. */
export interface CrossingError {
  /** Of a `TargetError`; null for a fault of ours. */
  readonly code: TargetErrorCode | null
  readonly message: string
  readonly stack: string
}
