import type { Kysely } from 'kysely'
import { auditWriter } from './audit.ts'
import { auditBase, openBase } from './audit-chain.ts'
import { type CheckpointKeeper, keepCheckpoint, readCheckpoint, removeUnfinished } from './audit-checkpoint.ts'
import { type AuditGap, auditGap, auditKept, gapOf, headOf } from './audit-gap.ts'
import type { Keyring } from './keyring.ts'
import type { NewAuditEntry } from './model/audit.ts'
import type { RunStatement } from './prepared.ts'
import type { Schema } from './schema.ts'
import type { SealingKey } from './sealing.ts'
import { byTheService } from './service-audit.ts'
import { usualSessionLimits } from './sessions.ts'

export interface WatchOptions {
  readonly file: string
  readonly keyring: Keyring
  /** Keys that may have signed the file: those of the ring and one of a replacement that was cut off. */
  readonly keys: readonly SealingKey[]
  readonly writer: Kysely<Schema>
  readonly run: RunStatement
  readonly now: () => Date
  readonly report: (error: unknown) => void
}

/**
 * Compares the log with its checkpoint before anything is added to it, and goes on keeping the checkpoint when both agree.
 * When they do not, the checkpoint is left as it is, the finding is remembered in the database and recorded in the log
 * itself, and null is answered: a newer checkpoint would hide what the old one shows.
 *
 * After a backup was restored on purpose, empty the file: the log then begins anew from there, and says so.
 */
export async function watchAudit(options: WatchOptions): Promise<CheckpointKeeper | null> {
  const { file, keyring, keys, writer, run, now, report } = options
  removeUnfinished(file)
  const found = readCheckpoint(file, keys)
  const { gap, begins } = await writer.transaction().execute(async (tx) => {
    const kept = await tx.selectFrom('instance').select('name').where('name', '=', auditKept).executeTakeFirst()
    const begins = found.state === 'empty' || (found.state === 'missing' && kept === undefined)
    const gap = begins ? null : await gapOf(tx, found, await baseOf(tx, keys))
    const known = await tx.selectFrom('instance').select('value').where('name', '=', auditGap).executeTakeFirst()
    const record = (entry: Pick<NewAuditEntry, 'action' | 'outcome' | 'changes'>) =>
      auditWriter({
        db: tx,
        run,
        key: keyring.current,
        sessionLimits: usualSessionLimits,
        now: now().toISOString(),
        events: [],
        leasesChanged: false,
        rightsChanged: false,
        head: null,
      }).append(byTheService(entry))
    if (gap !== null && known === undefined) {
      await tx
        .insertInto('instance')
        .values({ name: auditGap, value: JSON.stringify(gap) })
        .execute()
      await record({ action: 'audit.gap', outcome: 'failure', changes: gap })
    }
    if (found.state === 'empty') {
      await tx.deleteFrom('instance').where('name', '=', auditGap).execute()
      const before = known === undefined ? null : (JSON.parse(known.value) as AuditGap)
      await record({ action: 'audit.checkpoint', outcome: 'success', changes: { acknowledged: before } })
    }
    return { gap, begins }
  })
  if (gap !== null) return null

  const keeper = keepCheckpoint({
    file,
    key: () => keyring.current,
    now,
    report,
    last: begins || found.state !== 'valid' || found.keyId !== keyring.current.id ? await headOf(writer) : null,
  })
  await keeper.settle()
  // The file before the mark: a start that is cut off between the two begins again, instead of missing a file.
  await writer
    .insertInto('instance')
    .values({ name: auditKept, value: 'yes' })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  return keeper
}

async function baseOf(db: Kysely<Schema>, keys: readonly SealingKey[]): Promise<number> {
  const stored = await db.selectFrom('instance').select('value').where('name', '=', auditBase).executeTakeFirst()
  return openBase(keys, stored?.value)?.seq ?? 0
}
