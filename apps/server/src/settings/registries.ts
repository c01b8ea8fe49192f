import { EngineError } from '@stackquay/engine-api'
import type { Store } from '@stackquay/store'
import type { RegistryLogins } from '../registry-auth.ts'

/** Who logs in where, by host. The passwords are sealed apart. */
export type StoredRegistries = Readonly<Record<string, { readonly username: string }>>

const registriesName = 'instance.registries'

export async function storedRegistries(store: Pick<Store, 'settings'>): Promise<StoredRegistries> {
  return (await store.settings.get<StoredRegistries>(registriesName)) ?? {}
}

/** The name of its password among the secrets of the instance, which are sealed anew with the key. */
export const registrySecret = (host: string) => `registry/${host}`

export const registriesSetting = registriesName

/** Read at each pull, so that a new password holds for the next one. */
export function storedRegistryLogins(store: Pick<Store, 'settings' | 'secrets'>): RegistryLogins {
  return async (host) => {
    const found = Object.entries(await storedRegistries(store)).find(([name]) => name === host)?.[1]
    if (found === undefined) return null
    const handle = await store.secrets.find(null, registrySecret(host))
    if (handle === null) return null
    const password = await store.secrets.reveal(handle.secret).catch((error: unknown) => {
      throw new EngineError('image_unavailable', `The password for ${host} cannot be read.`, {
        hint: 'Set it again in the settings of the instance.',
        cause: error,
      })
    })
    return { username: found.username, password: password.expose() }
  }
}
