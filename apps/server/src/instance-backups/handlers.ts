import type { InstanceManifest } from '@stackquay/archive'
import { type InstanceBackup, ProblemError, visibleText } from '@stackquay/contract'
import { newId, type Store } from '@stackquay/store'
import { tarReply } from '../backups/download.ts'
import { freeBytes, requireRoom, reserveBytes } from '../backups/free-room.ts'
import { copiesView } from '../backups/known-copies.ts'
import type { Backups } from '../backups/open-backups.ts'
import { entryOf, removeOwnBackup } from '../backups/remove-own-backup.ts'
import type { Config } from '../config.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptManifest } from './accept-manifest.ts'

export interface InstanceBackupDeps {
  readonly store: Store
  readonly backups: Pick<Backups, 'own' | 'copies'>
  readonly config: Pick<Config, 'home'>
  readonly now: () => Date
  onError(error: unknown, what: string): void
}

type InstanceBackupHandlers = Pick<
  Handlers,
  | 'listInstanceBackups'
  | 'createInstanceBackup'
  | 'downloadInstanceBackup'
  | 'deleteInstanceBackup'
  | 'uploadInstanceBackup'
>

export function instanceBackupHandlers(deps: InstanceBackupDeps): InstanceBackupHandlers {
  const { store, backups, config, now, onError } = deps
  const { own } = backups
  const { archives } = own
  const view = (manifest: InstanceManifest) => instanceBackupView(manifest, deps)
  const find = async (id: string): Promise<InstanceManifest> => {
    const found = await archives.read(id)
    if (found === null) throw new ProblemError('not_found', `There is no backup "${id}" of the instance.`)
    return found
  }
  const record = (action: string, manifest: InstanceManifest, context: RequestContext) =>
    store.transaction((tx) => tx.audit.append(context.audit(entryOf(action, manifest))))

  return {
    listInstanceBackups: async () => {
      const found = await archives.list((id, error) => onError(error, `reading the backup ${id} of the instance`))
      return { status: 200, body: { items: found.map(view) } }
    },

    createInstanceBackup: async ({ body }, context) => {
      if (own.isMaking()) throw new ProblemError('busy', 'A backup of the instance is being made.')
      const at = now()
      const note = body?.note ?? null
      const fields = { id: newId('ibk', at), createdAt: at.toISOString(), note, source: 'manual' } as const
      const made = await own.make(fields, context.signal)
      await record('create', made, context)
      return { status: 201, body: view(made) }
    },

    downloadInstanceBackup: async ({ params }, context) => {
      const manifest = await find(params.backup)
      const tar = await archives.asTar(manifest.id)
      await record('download', manifest, context)
      const { createdAt, mac } = manifest
      return tarReply(tar, { name: 'stackquay-instance', createdAt, content: mac }, context)
    },

    deleteInstanceBackup: async ({ params }, context) => {
      const manifest = await find(params.backup)
      await removeOwnBackup(manifest.id, context, deps)
      return { status: 204 }
    },

    uploadInstanceBackup: async ({ body }, context) => {
      if (context.contentLength !== null) await requireRoom(config.home, context.contentLength, 'The archive')
      const maxBytes = Math.max(0, (await freeBytes(config.home)) - reserveBytes)
      const accept = (manifest: InstanceManifest) => acceptManifest(manifest, store.sealing)
      const manifest = await archives.upload(body, { signal: context.signal, maxBytes, accept })
      await record('upload', manifest, context)
      return { status: 201, body: view(manifest) }
    },
  }
}

export function instanceBackupView(
  manifest: InstanceManifest,
  { store: { sealing }, backups }: Pick<InstanceBackupDeps, 'store' | 'backups'>,
): InstanceBackup {
  const { id, createdAt, note, source, schema, keyId, audit, counts, parts, stackquayVersion } = manifest
  return {
    id,
    createdAt,
    note: note === null ? null : visibleText(note),
    source,
    stackquayVersion: visibleText(stackquayVersion),
    schema,
    keyId: visibleText(keyId),
    opensHere: opens(manifest, sealing),
    sizeBytes: parts[0].bytes,
    projects: counts.projects ?? 0,
    users: counts.users ?? 0,
    auditEntries: audit.seq,
    auditWhole: audit.whole,
    copies: copiesView(id, backups.copies),
  }
}

/** Whether it can be restored here. */
export function opens(manifest: InstanceManifest, sealing: Store['sealing']): boolean {
  try {
    acceptManifest(manifest, sealing)
    return true
  } catch {
    return false
  }
}
