import type { Config } from '../config.ts'
import type { Handlers } from '../http/handler.ts'
import { type BackupHandlerDeps, finders } from './backup-handlers.ts'
import { freeBytes, requireRoom, reserveBytes } from './free-room.ts'
import { takeIn } from './take-in.ts'

export function uploadHandlers(
  deps: BackupHandlerDeps & { readonly config: Pick<Config, 'home'> },
): Pick<Handlers, 'uploadBackup'> {
  const { backups, config } = deps
  const { view } = finders(deps)
  return {
    uploadBackup: async ({ body }, context) => {
      const announced = context.contentLength
      if (announced !== null) await requireRoom(config.home, announced, 'The archive')
      const maxBytes = Math.max(0, (await freeBytes(config.home)) - reserveBytes)
      const manifest = await backups.folder.upload(body, { signal: context.signal, maxBytes })
      await takeIn(manifest, deps, async (tx) => {
        const { id, project, createdAt } = manifest
        await tx.audit.append(
          context.audit({
            action: 'backup.upload',
            target: `${project.slug}/${id}`,
            project: project.id,
            changes: { createdAt, parts: manifest.parts.map((part) => part.id) },
          }),
        )
      })
      return {
        status: 201,
        body: view({ manifest, verified: null }),
        headers: { location: `/api/v1/backups/${manifest.id}` },
      }
    },
  }
}
