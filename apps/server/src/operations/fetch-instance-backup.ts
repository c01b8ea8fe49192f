import type { InstanceManifest } from '@stackquay/archive'
import { ProblemError } from '@stackquay/contract'
import type { StepContext, Work } from '@stackquay/orchestrator'
import type { OperationRow } from '@stackquay/store'
import type { Copier, CopyIndex } from '@stackquay/targets'
import { findTarget, useTarget } from '../backup-targets/use-target.ts'
import { backupEvent } from '../backups/backup-event.ts'
import { requireRoom } from '../backups/free-room.ts'
import { acceptManifest, manifestOf } from '../instance-backups/accept-manifest.ts'
import { retryTold } from './copy-backup.ts'
import { countedCopy } from './fetch-backup.ts'
import { deadlines, type OperationDeps } from './operation-deps.ts'

/** A backup of the instance from a target, through the same checks as an upload: signature, key, schema. All of it or nothing. */
export function fetchInstanceBackup({ input }: OperationRow, deps: OperationDeps): Work {
  const [backup, target] = [String(input.backup), String(input.target)]
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      async () => {
        const { name } = await findTarget(deps.store, target)
        const run = (context: StepContext) => fetch({ backup, target }, context, deps)
        return [{ id: 'fetch', title: `Fetch the backup from ${name}`, run }]
      },
    ],
    settle: async () => {},
  }
}

async function fetch(
  { backup, target }: { readonly backup: string; readonly target: string },
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { store, backups } = deps
  const row = await findTarget(store, target)
  await useTarget(row, store, { onRetry: retryTold(context) }, async (opened) => {
    const index = await opened.find(backup, context.signal)
    if (index === null) throw new ProblemError('not_found', 'There is no complete copy of it on the target any more.')
    // It is here where an attempt before this one was ended after all had come.
    if ((await backups.own.archives.read(backup)) === null) await receive(index, opened, context, deps)
  })
  const copy = await store.transaction(async (tx) => {
    await tx.events.append(backupEvent('backup.created', { id: backup, project: null }))
    return tx.backupTargets.putCopy(target, backup, 'complete')
  })
  backups.copies.put(copy)
}

async function receive(
  index: CopyIndex,
  opened: Copier,
  context: StepContext,
  { store, backups, config }: Pick<OperationDeps, 'store' | 'backups' | 'config'>,
): Promise<void> {
  const { archives } = backups.own
  await requireRoom(config.home, index.archiveBytes, 'The backup')
  const accept = (manifest: InstanceManifest) => {
    acceptManifest(manifest, store.sealing)
    if (manifest.id === index.id) return
    throw new ProblemError('backup_damaged', `The copy of ${index.id} holds the backup ${manifest.id}.`)
  }
  // Before anything is fetched.
  accept(manifestOf(index))
  const limits = { signal: context.signal, maxBytes: index.archiveBytes, accept }
  await archives.upload(countedCopy(index, opened, context), limits)
}
