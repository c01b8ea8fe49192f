import { newKey } from '@stackquay/acme'
import type { AcmeSettings } from '@stackquay/contract'
import type { Store, Transaction } from '@stackquay/store'

/** What an administrator wants of an authority, as it is stored. Nothing of it is secret. */
export interface StoredAcme extends AcmeSettings {
  /** Where the account is, once it is known. */
  readonly accountUrl: string | null
}

/** What is sealed of it. */
export interface AcmeSecrets {
  readonly accountKey: string
  readonly hmacKey: string | null
  /** Of the DNS provider: those of its settings that are secret. */
  readonly dns: Readonly<Record<string, unknown>>
}

const settingName = 'acme'
export const secretName = 'acme/account'

export async function readAcme({ settings }: Pick<Store, 'settings'>): Promise<StoredAcme | null> {
  return settings.get<StoredAcme>(settingName)
}

/** Null when there is nothing sealed. Throws `SecretError` when it cannot be read with this secret key. */
export async function readAcmeSecrets({ secrets }: Pick<Store, 'secrets'>): Promise<AcmeSecrets | null> {
  const handle = await secrets.find(null, secretName)
  return handle === null ? null : (JSON.parse((await secrets.reveal(handle.secret)).expose()) as AcmeSecrets)
}

export async function writeAcme(tx: Transaction, stored: StoredAcme | null): Promise<void> {
  await tx.settings.set(settingName, stored)
}

export async function writeAcmeSecrets(tx: Transaction, sealed: AcmeSecrets | null): Promise<void> {
  if (sealed === null) await tx.secrets.delete(null, secretName)
  else await tx.secrets.put(null, secretName, JSON.stringify(sealed))
}

/** The key of the account stays while its authority and its binding do; another one is another account. */
export function accountKeyFor(next: StoredAcme, before: StoredAcme | null, sealed: AcmeSecrets | null): string {
  const isSame =
    before !== null &&
    sealed !== null &&
    before.directory === next.directory &&
    before.externalAccount?.keyId === next.externalAccount?.keyId
  return isSame ? sealed.accountKey : newKey()
}
