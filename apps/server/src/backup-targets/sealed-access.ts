import type { Secret } from '@stackquay/contract'
import { type BackupTargetRow, SecretError, type Store, type Transaction } from '@stackquay/store'
import { type TargetAccess, TargetError, type TargetKey } from '@stackquay/targets'

/** What is secret of a target, sealed as one text: credentials, the identity that opens everything on it, and its key file. */
interface SealedAccess {
  readonly credentials: object
  readonly key: TargetKey
}

export function targetSecret(id: string): string {
  return `backup-target/${id}`
}

export async function sealAccess(tx: Transaction, id: string, access: TargetAccess, key: TargetKey): Promise<void> {
  const credentials = 'credentials' in access ? access.credentials : {}
  await tx.secrets.put(null, targetSecret(id), JSON.stringify({ credentials, key } satisfies SealedAccess))
}

/** To connect with, and to open what lies there. Throws `key_changed` where the secret key of the instance opens it no more. */
export async function openAccess(
  { id, kind, name, settings }: BackupTargetRow,
  { secrets }: Pick<Store, 'secrets'>,
): Promise<{ readonly access: TargetAccess; readonly key: TargetKey }> {
  const sealed = await revealed(id, secrets)
  if (sealed === null)
    throw new TargetError(
      'key_changed',
      `The credentials of the target "${name}" cannot be opened any more. Remove it, and add it again with its passphrase.`,
    )
  const { credentials, key } = JSON.parse(sealed.expose()) as SealedAccess
  return { access: { kind, settings, credentials } as unknown as TargetAccess, key }
}

async function revealed(id: string, secrets: Store['secrets']): Promise<Secret | null> {
  const handle = await secrets.find(null, targetSecret(id))
  if (handle === null) return null
  try {
    return await secrets.reveal(handle.secret)
  } catch (error) {
    if (error instanceof SecretError) return null
    throw error
  }
}
