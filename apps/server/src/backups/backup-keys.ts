import { type ArchiveFolder, type Manifest, newIdentity } from '@stackquay/archive'
import { ProblemError } from '@stackquay/contract'
import { SecretError, type Store, type Transaction } from '@stackquay/store'
import type { KnownBackups } from './known-backups.ts'

/**
 * Every backup has an age key of its own, sealed twice with the secret key of the instance: in its manifest, so that another machine
 * with the same secret key opens it, and in the store, which a replacement of that key seals anew in one transaction. What stands
 * in the manifests is sealed anew after it, or by the next start.
 */
export interface BackupKeys {
  create(backup: string): Promise<NewBackupKey>
  /** Together with the backup's event: it opens also when the secret key is replaced. */
  keep(tx: Transaction, backup: string, key: Pick<NewBackupKey, 'identity'>): Promise<void>
  forget(tx: Transaction, backup: string): Promise<void>
  opensHere(manifest: Manifest): boolean
  /** The age identity. Throws `backup_locked`. */
  identityOf(manifest: Manifest): Promise<string>
  /** Seals anew, with the secret key of now, what other keys of this instance sealed; keeps what only a manifest has. */
  renew(): Promise<void>
}

export interface NewBackupKey {
  readonly identity: string
  readonly recipient: string
  readonly sealed: NonNullable<Manifest['key']>
}

export async function openBackupKeys({
  folder,
  known,
  store,
  onError,
}: {
  readonly folder: Pick<ArchiveFolder, 'rekey'>
  readonly known: KnownBackups
  readonly store: Store
  onError(error: unknown, what: string): void
}): Promise<BackupKeys> {
  const kept = new Set(Object.keys(await store.secrets.ofInstance(prefix)))
  const seal = (backup: string, identity: string): NewBackupKey['sealed'] => {
    const { keyId, sealed } = store.sealing.seal(identity, about(backup))
    return { keyId, sealed: Buffer.from(sealed, 'base64url').toString('base64') }
  }
  const inManifest = ({ id, key }: Manifest): string | null => {
    if (key === null) return null
    const sealed = Buffer.from(key.sealed, 'base64').toString('base64url')
    return store.sealing.open({ keyId: key.keyId, sealed }, about(id))?.expose() ?? null
  }
  const inStore = async ({ id }: Manifest): Promise<string | null> => {
    const handle = await store.secrets.find(null, secretOf(id))
    if (handle === null) return null
    try {
      return (await store.secrets.reveal(handle.secret)).expose()
    } catch (error) {
      if (error instanceof SecretError) return null
      throw error
    }
  }
  const find = async (manifest: Manifest) => inManifest(manifest) ?? (await inStore(manifest))

  const keep: BackupKeys['keep'] = async (tx, backup, { identity }) => {
    await tx.secrets.put(null, secretOf(backup), identity)
    kept.add(secretOf(backup))
  }
  const renewOne = async (manifest: Manifest) => {
    const identity = await find(manifest)
    if (identity === null) return
    if (!kept.has(secretOf(manifest.id))) await store.transaction((tx) => keep(tx, manifest.id, { identity }))
    if (manifest.key?.keyId !== store.sealing.keyId())
      known.put(await folder.rekey(manifest.id, seal(manifest.id, identity)))
  }
  const keys: BackupKeys = {
    create: async (backup) => {
      const { identity, recipient } = await newIdentity()
      return { identity, recipient, sealed: seal(backup, identity) }
    },
    keep,
    forget: async (tx, backup) => {
      await tx.secrets.delete(null, secretOf(backup))
      kept.delete(secretOf(backup))
    },
    opensHere: ({ id, key }) => key !== null && (key.keyId === store.sealing.keyId() || kept.has(secretOf(id))),
    identityOf: async (manifest) => {
      const identity = await find(manifest)
      if (identity !== null) return identity
      throw new ProblemError('backup_locked', `The settings of the backup "${manifest.id}" do not open here.`, {
        hint: 'They were sealed with the secret key of another instance. Its files are readable all the same.',
      })
    },
    renew: async () => {
      for (const { manifest } of known.all())
        await renewOne(manifest).catch((error: unknown) => onError(error, `sealing the key of ${manifest.id} anew`))
      const left = [...kept].filter((name) => known.find(name.slice(prefix.length)) === null)
      for (const name of left) await store.transaction((tx) => keys.forget(tx, name.slice(prefix.length)))
    },
  }
  await keys.renew()
  return keys
}

const prefix = 'backup/'

function secretOf(backup: string): string {
  return `${prefix}${backup}`
}

/** Bound to the sealed text: the key of one backup opens no other. */
function about(backup: string): readonly unknown[] {
  return ['backup', backup]
}
