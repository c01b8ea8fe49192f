import { backupEvent } from '../backups/backup-event.ts'
import type { OperationDeps } from './operation-deps.ts'

/** What was to be replaced is as it was, so the backup of that says nothing new. */
export async function forgetBefore(before: string | null, { backups, store }: OperationDeps): Promise<void> {
  const known = before === null ? null : backups.known.find(before)
  if (before === null || known === null) return
  await backups.folder.remove(before)
  backups.known.forget(before)
  backups.copies.forgetBackup(before)
  await store.transaction(async (tx) => {
    await backups.keys.forget(tx, before)
    await tx.backupTargets.forgetCopies(before)
    await tx.events.append(backupEvent('backup.deleted', known.manifest))
  })
}
