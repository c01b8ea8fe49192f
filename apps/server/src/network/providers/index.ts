import { cloudflare } from './cloudflare/cloudflare.ts'
import { direct } from './direct/direct.ts'
import type { ShareProvider } from './provider.ts'
import { ssh } from './ssh/ssh.ts'

/** In the order in which they are offered. */
export const shareProviders: readonly ShareProvider[] = [direct, cloudflare, ssh]

export function findProvider(name: string): ShareProvider | null {
  return shareProviders.find((provider) => provider.name === name) ?? null
}
