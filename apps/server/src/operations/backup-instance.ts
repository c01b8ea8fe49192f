import type { StepContext, Work } from '@stackquay/orchestrator'
import type { OperationRow } from '@stackquay/store'
import { backupEvent } from '../backups/backup-event.ts'
import { deadlines, type OperationDeps } from './operation-deps.ts'
import type { BackupRequest } from './take-backup.ts'

/** A backup of the instance itself, for its schedule. It is there whole at the end, or nothing of it is. */
export function backupInstance({ input }: OperationRow, deps: OperationDeps): Work {
  const { id, note } = input.request as Pick<BackupRequest, 'id' | 'note'>
  const { store, backups, now } = deps
  const run = async ({ signal }: StepContext) => {
    // It is there where an attempt before this one was ended after all was done.
    if ((await backups.own.archives.read(id)) === null)
      await backups.own.make({ id, createdAt: now().toISOString(), note, source: 'schedule' }, signal)
    await store.transaction((tx) => tx.events.append(backupEvent('backup.created', { id, project: null })))
  }
  return {
    deadlineSeconds: deadlines.day,
    stages: [async () => [{ id: 'instance', title: 'Back up the instance', run }]],
    settle: async () => {},
  }
}
