import { apiPrefix, type OidcProvider } from '@stackquay/contract'
import type { Store } from '@stackquay/store'

/** What is stored of the provider; the client’s secret is sealed apart. */
export type StoredProvider = Omit<OidcProvider, 'hasSecret'>

export const oidcSetting = 'instance.oidc'
export const clientSecretName = 'oidc/client'
/** Tokens of one session; a copy of the store leaves them out. */
export const sessionSecretPrefix = 'oidc/session/'

export interface KnownProvider {
  readonly settings: StoredProvider
  readonly clientSecret: string | null
}

export async function storedProvider(store: Pick<Store, 'settings'>): Promise<StoredProvider | null> {
  return await store.settings.get<StoredProvider | null>(oidcSetting)
}

/** Read at each use, so that what was changed holds for the next one. */
export async function knownProvider(store: Pick<Store, 'settings' | 'secrets'>): Promise<KnownProvider | null> {
  const settings = await storedProvider(store)
  if (settings === null) return null
  const handle = await store.secrets.find(null, clientSecretName)
  return { settings, clientSecret: handle === null ? null : (await store.secrets.reveal(handle.secret)).expose() }
}

export function redirectUriOf(publicUrl: string): string {
  return `${publicUrl}${apiPrefix}/auth/oidc/callback`
}
