import { createHash } from 'node:crypto'
import type { ArchiveTar, Manifest } from '@stackquay/archive'
import type { Reply, RequestContext } from '../http/handler.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import type { Backups } from './open-backups.ts'

/** A backup as one tar archive; a download that broke goes on where it was. It is recorded: whoever has it has the data. */
export async function archiveReply(
  manifest: Manifest,
  context: RequestContext,
  { store, backups }: Pick<ChangeDeps, 'store'> & { readonly backups: Backups },
): Promise<Reply<never>> {
  const { id, project } = manifest
  const tar = await backups.folder.asTar(id)
  await store.transaction((tx) =>
    tx.audit.append(context.audit({ action: 'backup.download', target: `${project.slug}/${id}`, project: project.id })),
  )
  const name = project.slug.replace(/[^a-zA-Z0-9_-]/g, '-')
  return tarReply(tar, { name, createdAt: manifest.createdAt, content: JSON.stringify(manifest) }, context)
}

/** An archive as a file that says when it was made. Equal `content` means equal bytes, so that ranges of it fit together. */
export function tarReply(
  tar: ArchiveTar,
  { name, createdAt, content }: { readonly name: string; readonly createdAt: string; readonly content: string },
  { signal }: Pick<RequestContext, 'signal'>,
): Reply<never> {
  const time = createdAt.slice(0, 16).replaceAll(':', '').replace('T', '-')
  return {
    status: 200,
    headers: {
      'content-type': 'application/x-tar',
      'content-disposition': `attachment; filename="${name}-${time}.tar"`,
    },
    stream: tar.read(0, tar.size, signal),
    part: ({ from, to }) => tar.read(from, to + 1, signal),
    length: tar.size,
    etag: createHash('sha256').update(content).digest('hex').slice(0, 32),
  }
}
