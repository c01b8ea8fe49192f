import type { Orchestrator } from '@stackquay/orchestrator'
import type { OperationRow, Transaction } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import { queueOperation, submitted } from '../projects/accept.ts'
import type { Backups } from './open-backups.ts'

/** A copy that is to be made, as its operation keeps it. */
export interface CopyInput {
  readonly backup: string
  readonly target: string
  /** Nothing is known of a copy there: what a cancelled one leaves can be removed. */
  readonly isFirst: boolean
  /** A schedule may delete it again, unless a person asked for it. */
  readonly ofSchedule: boolean
}

/**
 * One copy of one backup to one target, as an operation of the instance: for a person who asks, and for a schedule. Inside the
 * transaction that writes what else belongs to it; `submitted` after that. Copies to one target follow each other, and
 * hold up no project.
 */
export async function queueCopy(
  tx: Transaction,
  { backup, target, bySchedule }: Pick<CopyInput, 'backup' | 'target'> & { readonly bySchedule: boolean },
  asker: Pick<RequestContext, 'actor' | 'requestId'>,
  { copies }: Pick<Backups, 'copies'>,
): Promise<{ readonly operation: OperationRow; begin(deps: { readonly orchestrator: Orchestrator }): void }> {
  const before = copies.of(backup).find((row) => row.target === target)
  const input: CopyInput = { backup, target, isFirst: before === undefined, ofSchedule: bySchedule }
  const operation = await queueOperation(tx, 'copy-backup', null, asker, { ...input })
  const row = before?.state === 'complete' ? null : await tx.backupTargets.putCopy(target, backup, 'copying')
  return {
    operation,
    begin: ({ orchestrator }) => {
      if (row !== null) copies.put(row)
      submitted(operation, orchestrator)
    },
  }
}
