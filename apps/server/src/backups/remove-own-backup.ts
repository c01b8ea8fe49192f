import type { InstanceManifest } from '@stackquay/archive'
import type { Store } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import { backupEvent } from './backup-event.ts'
import type { Backups } from './open-backups.ts'
import { inUse } from './remove-backup.ts'

/** For good. Throws `busy` while an operation reads it. Nothing happens when there is none of this id. */
export async function removeOwnBackup(
  id: string,
  context: Pick<RequestContext, 'audit'>,
  { store, backups }: { readonly store: Store; readonly backups: Pick<Backups, 'own' | 'copies'> },
): Promise<void> {
  const reader = (await store.operations.unfinished()).find(({ input }) => input.backup === id)
  if (reader !== undefined) throw inUse(id, reader)
  const manifest = await backups.own.archives.read(id)
  if (manifest === null) return
  await backups.own.archives.remove(id)
  await store.transaction(async (tx) => {
    await tx.backupTargets.forgetCopies(id)
    await tx.audit.append(context.audit(entryOf('delete', manifest)))
    await tx.events.append(backupEvent('backup.deleted', { id, project: null }))
  })
  backups.copies.forgetBackup(id)
}

export function entryOf(act: string, { id, createdAt, source }: InstanceManifest) {
  return { action: `instance.backup.${act}`, target: id, changes: { createdAt, source } }
}
