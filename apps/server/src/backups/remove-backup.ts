import type { Manifest } from '@stackquay/archive'
import { ProblemError } from '@stackquay/contract'
import type { OperationRow } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import { busy } from '../projects/accept.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { backupEvent } from './backup-event.ts'
import type { Backups } from './open-backups.ts'

/** For good. Throws `busy` while an operation reads it. */
export async function removeBackup(
  manifest: Manifest,
  context: Pick<RequestContext, 'audit'>,
  { store, backups }: Pick<ChangeDeps, 'store'> & { readonly backups: Backups },
): Promise<void> {
  const { id, project } = manifest
  const reader = (await store.operations.unfinished()).find(({ input }) => input.backup === id || input.before === id)
  if (reader?.project === null) throw inUse(id, reader)
  if (reader !== undefined) throw busy(reader, project)
  await backups.folder.remove(id)
  backups.known.forget(id)
  backups.copies.forgetBackup(id)
  await store.transaction(async (tx) => {
    await tx.backupChecks.delete(id)
    await tx.backupTargets.forgetCopies(id)
    await backups.keys.forget(tx, id)
    const changes = { createdAt: manifest.createdAt, source: manifest.source }
    await tx.audit.append(
      context.audit({ action: 'backup.delete', target: `${project.slug}/${id}`, project: project.id, changes }),
    )
    await tx.events.append(backupEvent('backup.deleted', manifest))
  })
}

export function inUse(backup: string, { id, kind }: OperationRow): ProblemError {
  return new ProblemError('busy', `The operation ${id} (${kind}) uses the backup "${backup}".`, {
    hint: `Wait for it (GET /operations/${id}?wait=60) or cancel it (POST /operations/${id}/cancel).`,
    extensions: { operation: id },
  })
}
