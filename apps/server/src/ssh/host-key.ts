import { createHash } from 'node:crypto'
import type { Store } from '@stackquay/store'
import { newDeployKey, openSshKey, publicHalf } from '../source/deploy-key.ts'

/** By what clients know this service. Made once, sealed in the store, and so in every backup of the instance. */
export interface HostKey {
  readonly type: 'ssh-ed25519'
  /** As in `known_hosts`, without a host. */
  readonly publicKey: string
  readonly fingerprint: string
  /** In the format of OpenSSH. */
  privateKey(): string
}

const secretName = 'ssh/host-key'

export async function openHostKey(store: Pick<Store, 'secrets' | 'transaction'>): Promise<HostKey> {
  const known = await store.secrets.find(null, secretName)
  const seed = known === null ? await make(store) : (await store.secrets.reveal(known.secret)).expose()
  const { publicKey, fingerprint } = publicHalf(seed, '')
  return {
    type: 'ssh-ed25519',
    publicKey: publicKey.trim(),
    fingerprint,
    privateKey: () => openSshKey(seed, 'stackquay'),
  }
}

async function make(store: Pick<Store, 'transaction'>): Promise<string> {
  const seed = newDeployKey()
  await store.transaction((tx) => tx.secrets.put(null, secretName, seed))
  return seed
}

/** As OpenSSH shows it. */
export function fingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}
