import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { InstanceArchives, InstanceManifest } from '@stackquay/archive'
import { type InstanceBackup, ProblemError, visibleText } from '@stackquay/contract'
import { newId, type Store } from '@stackquay/store'
import { tarReply } from '../backups/download.ts'
import { freeBytes, requireRoom, reserveBytes } from '../backups/free-room.ts'
import type { Config } from '../config.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { version } from '../version.ts'
import { acceptManifest } from './accept-manifest.ts'
import { signaturePurpose } from './before-migration.ts'

export interface InstanceBackupDeps {
  readonly store: Store
  readonly archives: InstanceArchives
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
  const { store, archives, config, now, onError } = deps
  let isMaking = false
  const view = (manifest: InstanceManifest) => instanceBackupView(manifest, store)
  const find = async (id: string): Promise<InstanceManifest> => {
    const found = await archives.read(id)
    if (found === null) throw new ProblemError('not_found', `There is no backup "${id}" of the instance.`)
    return found
  }
  const record = (action: string, { id, createdAt, source }: InstanceManifest, context: RequestContext) =>
    store.transaction((tx) =>
      tx.audit.append(
        context.audit({ action: `instance.backup.${action}`, target: id, changes: { createdAt, source } }),
      ),
    )

  return {
    listInstanceBackups: async () => {
      const found = await archives.list((id, error) => onError(error, `reading the backup ${id} of the instance`))
      return { status: 200, body: { items: found.map(view) } }
    },

    createInstanceBackup: async ({ body }, context) => {
      if (isMaking) throw new ProblemError('busy', 'A backup of the instance is being made.')
      isMaking = true
      try {
        await requireRoomForCopy(config.home)
        const made = await archives.create({
          id: newId('ibk', now()),
          createdAt: now().toISOString(),
          note: body?.note ?? null,
          source: 'manual',
          stackquayVersion: version,
          copyTo: (file) => store.copyTo(file, context.signal),
          sign: signWith(store),
          signal: context.signal,
        })
        await record('create', made, context)
        return { status: 201, body: view(made) }
      } finally {
        isMaking = false
      }
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
      await archives.remove(manifest.id)
      await record('delete', manifest, context)
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

/** A key that was replaced between the copy and its signature would sign what it does not open. */
export function signWith({ sealing }: Pick<Store, 'sealing'>): (text: string, keyId: string) => string {
  return (text, keyId) => {
    const signature = sealing.sign(text, signaturePurpose)
    if (signature.keyId === keyId) return signature.mac
    throw new ProblemError('busy', 'The secret key was replaced meanwhile. Try again.')
  }
}

/** The copy and, at most as large, what it is compressed to. */
export async function requireRoomForCopy(home: string): Promise<void> {
  const { size } = await stat(join(home, 'stackquay.db'))
  await requireRoom(home, 2 * size, 'The backup')
}

function instanceBackupView(manifest: InstanceManifest, { sealing }: Pick<Store, 'sealing'>): InstanceBackup {
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
  }
}

function opens(manifest: InstanceManifest, sealing: Store['sealing']): boolean {
  try {
    acceptManifest(manifest, sealing)
    return true
  } catch {
    return false
  }
}
