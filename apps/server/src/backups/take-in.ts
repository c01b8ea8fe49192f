import type { Manifest } from '@stackquay/archive'
import { ProblemError, slugPattern } from '@stackquay/contract'
import type { Store, Transaction } from '@stackquay/store'
import { backupEvent } from './backup-event.ts'
import type { Backups } from './open-backups.ts'

/**
 * An archive that was brought here, by a person or from a target, becomes a backup of this instance. `write` belongs to the same
 * transaction.
 */
export async function takeIn(
  manifest: Manifest,
  { store, backups }: { readonly store: Store; readonly backups: Backups },
  write: (tx: Transaction) => Promise<void>,
): Promise<void> {
  if (!isProjectId(manifest.project.id) || !slugPattern.test(manifest.project.slug)) {
    await backups.folder.remove(manifest.id)
    throw new ProblemError('backup_damaged', 'The manifest names no project.')
  }
  await store.transaction(async (tx) => {
    await write(tx)
    // What a drill once found of another archive of this id says nothing of this one.
    await tx.backupChecks.delete(manifest.id)
    await tx.events.append(backupEvent('backup.created', manifest))
  })
  backups.known.put(manifest)
  await backups.keys.renew()
}

/** It stands in events and answers, and the slug in the audit log. */
function isProjectId(id: string): boolean {
  return /^prj_[a-z0-9]{10,40}$/.test(id)
}
