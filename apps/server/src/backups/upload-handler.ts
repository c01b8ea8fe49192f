import { ProblemError, slugPattern } from '@stackquay/contract'
import type { Config } from '../config.ts'
import type { Handlers } from '../http/handler.ts'
import { backupEvent } from './backup-event.ts'
import { type BackupHandlerDeps, finders } from './backup-handlers.ts'
import { freeBytes, requireRoom, reserveBytes } from './free-room.ts'

export function uploadHandlers(
  deps: BackupHandlerDeps & { readonly config: Pick<Config, 'home'> },
): Pick<Handlers, 'uploadBackup'> {
  const { store, backups, config } = deps
  const { view } = finders(deps)
  return {
    uploadBackup: async ({ body }, context) => {
      const announced = context.contentLength
      if (announced !== null) await requireRoom(config.home, announced, 'The archive')
      const maxBytes = Math.max(0, (await freeBytes(config.home)) - reserveBytes)
      const manifest = await backups.folder.upload(body, { signal: context.signal, maxBytes })
      if (!isProjectId(manifest.project.id) || !slugPattern.test(manifest.project.slug)) {
        await backups.folder.remove(manifest.id)
        throw new ProblemError('backup_damaged', 'The manifest names no project.')
      }
      await store.transaction(async (tx) => {
        const { id, project, createdAt } = manifest
        await tx.audit.append(
          context.audit({
            action: 'backup.upload',
            target: `${project.slug}/${id}`,
            project: project.id,
            changes: { createdAt, parts: manifest.parts.map((part) => part.id) },
          }),
        )
        // What a drill once found of another archive of this id says nothing of this one.
        await tx.backupChecks.delete(id)
        await tx.events.append(backupEvent('backup.created', manifest))
      })
      backups.known.put(manifest)
      await backups.keys.renew()
      return {
        status: 201,
        body: view({ manifest, verified: null }),
        headers: { location: `/api/v1/backups/${manifest.id}` },
      }
    },
  }
}

/** It stands in events and answers, and the slug in the audit log. */
function isProjectId(id: string): boolean {
  return /^prj_[a-z0-9]{10,40}$/.test(id)
}
