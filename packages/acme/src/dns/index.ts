import { cloudflare } from './cloudflare/index.ts'
import { hetzner } from './hetzner/index.ts'
import type { DnsProviderKind } from './provider.ts'
import { rfc2136 } from './rfc2136/index.ts'
import { route53 } from './route53/index.ts'
import { webhook } from './webhook/index.ts'

/** A new provider is a folder and a line here. */
export const dnsProviders: readonly DnsProviderKind[] = [rfc2136, cloudflare, route53, hetzner, webhook]

export function dnsProviderOf(name: string): DnsProviderKind | null {
  return dnsProviders.find((kind) => kind.name === name) ?? null
}
