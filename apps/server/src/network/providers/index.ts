import { cloudflare } from './cloudflare/cloudflare.ts'
import { direct } from './direct/direct.ts'
import type { Availability, ProviderEnvironment, ShareProvider } from './provider.ts'
import { ssh } from './ssh/ssh.ts'

/** In the order in which they are offered. */
export const shareProviders: readonly ShareProvider[] = [direct, cloudflare, ssh]

export const providerNames: readonly string[] = shareProviders.map(({ name }) => name)

/** What the instance does not allow is not looked for. */
export async function availabilityOf(provider: ShareProvider, environment: ProviderEnvironment): Promise<Availability> {
  if (environment.allowed.includes(provider.name)) return provider.probe(environment)
  return { available: false, reason: 'The settings of this instance do not allow it.', install: null }
}

export function findProvider(name: string): ShareProvider | null {
  return shareProviders.find((provider) => provider.name === name) ?? null
}
