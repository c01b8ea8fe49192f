import type { EventRecord } from '@stackquay/contract'
import type { Kysely, Transaction } from 'kysely'
import type { AuditHead } from './audit-chain.ts'
import type { Keyring } from './keyring.ts'
import type { Prepare, RunStatement } from './prepared.ts'
import type { Schema } from './schema.ts'
import type { SealingKey } from './sealing.ts'
import type { SessionLimits } from './sessions.ts'

/** Every reader gets this: the committed state. */
export interface Reading {
  readonly db: Kysely<Schema>
  readonly prepare: Prepare
  readonly keys: Keyring
  readonly sessionLimits: SessionLimits
  now(): Date
}

/** Every writer gets this: one open transaction. */
export interface Writing {
  readonly db: Transaction<Schema>
  readonly run: RunStatement
  readonly key: SealingKey
  readonly sessionLimits: SessionLimits
  /** The instant of the transaction: all its rows carry the same. */
  readonly now: string
  /** Published after the commit. */
  readonly events: EventRecord[]
  /** Set by every change of a port lease. */
  leasesChanged: boolean
  /** Set by every change of what somebody who is logged in may do. */
  rightsChanged: boolean
  /** The last audit entry of the transaction, for the checkpoint beside the database. */
  head: AuditHead | null
}
