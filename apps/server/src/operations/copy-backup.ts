import type { StepContext, Work } from '@stackquay/orchestrator'
import type { BackupCopyRow, OperationRow } from '@stackquay/store'
import type { Copier, CopyIndex, Piece, TargetError } from '@stackquay/targets'
import { copierId, deleteOldCopies, removeAbandoned, removeLeftovers } from '../backup-targets/old-copies.ts'
import { findTarget, useTarget } from '../backup-targets/use-target.ts'
import { backupEvent } from '../backups/backup-event.ts'
import { type CopiedArchive, copiedArchive } from '../backups/copied-archive.ts'
import { bytesText } from '../backups/free-room.ts'
import type { CopyInput } from '../backups/queue-copy.ts'
import { deadlines, type OperationDeps } from './operation-deps.ts'
import { told } from './take-backup.ts'

/**
 * A backup on a target. Cut off or failed, the next attempt goes on where it was; cancelled, what it sent is removed, unless there
 * was a copy before.
 */
export function copyBackup(operation: OperationRow, deps: OperationDeps): Work {
  const input = operation.input as unknown as CopyInput
  const state = { isOurs: false }
  return {
    deadlineSeconds: deadlines.week,
    stages: [
      async () => {
        const { name } = await findTarget(deps.store, input.target)
        return [
          {
            id: 'checksums',
            title: 'Compare the backup with its checksums',
            run: async ({ signal }) => (await copiedArchive(input.backup, deps.backups)).check(signal),
          },
          {
            id: 'copy',
            title: `Copy the backup to ${name}`,
            run: (context) => copy(input, state, context, deps),
          },
        ]
      },
    ],
    settle: async ({ state: ended }) => {
      const row = deps.backups.copies.of(input.backup).find(({ target }) => target === input.target)
      // A copy from before that nothing was changed of is as complete as it was.
      if (row?.state !== 'copying') return
      if (ended === 'cancelled' && state.isOurs) await removeSent(input, deps)
      else if (ended === 'cancelled' && input.isFirst) await forget(input, deps)
      else await keep(input, 'incomplete', deps)
    },
  }
}

async function copy(
  input: CopyInput,
  state: { isOurs: boolean },
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { backup, target: id } = input
  const { store, backups } = deps
  const { signal } = context
  const copied = await copiedArchive(backup, backups)
  const archive = await copied.asTar()
  const identity = await copied.identity()
  const instance = await copierId(store)
  const bytes = told(context, `of ${bytesText(archive.size)} copied`)
  const row = await findTarget(store, id)
  await useTarget(row, store, { onRetry: retryTold(context) }, async (opened) => {
    await opened.requireKey(signal)
    const old = { row, opened, context, store, backups, now: deps.now }
    await removeLeftovers(backup, old)
    const { sent, isOurs, index } = await sentBefore(input, opened, signal, deps)
    state.isOurs = isOurs
    const manifest = JSON.parse(JSON.stringify(copied.manifest))
    // What a person or another instance copied stays theirs.
    const bySchedule =
      input.ofSchedule === true && (index === null || (index.bySchedule && index.instance === instance))
    await opened.send(
      { id: backup, ...archive, manifest, identity, instance, bySchedule },
      {
        sent,
        onFirst: () => keep({ backup, target: id }, 'copying', deps),
        onPiece: (at, piece) => store.transaction((tx) => tx.backupTargets.putPiece(id, backup, at, piece)),
        onBytes: bytes,
        signal,
      },
    )
    await complete(copied, id, deps)
    await deleteOldCopies(copied, instance, old)
    await removeAbandoned(copied, old)
  })
}

async function complete({ id, subject }: CopiedArchive, target: string, { store, backups }: OperationDeps) {
  const row = await store.transaction(async (tx) => {
    await tx.events.append(backupEvent('backup.copied', { id, project: subject }))
    return tx.backupTargets.putCopy(target, id, 'complete')
  })
  backups.copies.put(row)
}

/**
 * What this instance wrote down, else what the index of a copy says that is there already. `isOurs`: all that is there of it is what
 * this operation sent, and nothing of another instance.
 */
async function sentBefore(
  { backup, target, isFirst }: CopyInput,
  opened: Copier,
  signal: AbortSignal,
  { store }: OperationDeps,
): Promise<{
  readonly sent: ReadonlyMap<number, Piece>
  readonly isOurs: boolean
  /** Of a copy that is complete there. */
  readonly index: CopyIndex | null
}> {
  const noted = await store.backupTargets.pieces(target, backup)
  if (noted.size > 0) return { sent: noted, isOurs: isFirst, index: null }
  const index = await opened.find(backup, signal)
  return { sent: new Map(index?.pieces.entries()), isOurs: isFirst && index === null, index }
}

/** Not for long: a target that is away is no reason for a cancel to wait. */
const removeMs = 60_000

async function removeSent(input: CopyInput, deps: OperationDeps): Promise<void> {
  const { store } = deps
  const { backup, target } = input
  try {
    const signal = AbortSignal.timeout(removeMs)
    const row = await findTarget(store, target)
    await useTarget(row, store, {}, (opened) => opened.remove(backup, signal))
  } catch {
    return keep(input, 'incomplete', deps)
  }
  await forget(input, deps)
}

async function forget({ backup, target }: CopyInput, { store, backups }: OperationDeps): Promise<void> {
  await store.transaction((tx) => tx.backupTargets.forgetCopy(target, backup))
  backups.copies.forget(target, backup)
}

async function keep(
  { backup, target }: Pick<CopyInput, 'backup' | 'target'>,
  state: BackupCopyRow['state'],
  { store, backups }: OperationDeps,
): Promise<void> {
  if ((await store.backupTargets.find(target)) === null) return
  backups.copies.put(await store.transaction((tx) => tx.backupTargets.putCopy(target, backup, state)))
}

export function retryTold({ output }: StepContext): (error: TargetError, pauseMs: number) => void {
  return ({ message }, pauseMs) =>
    output({ stream: 'stderr', text: `${message} Trying again in ${Math.ceil(pauseMs / 1000)} s.\n` })
}
