import type { IncomingMessage } from 'node:http'
import { addressSet } from '@stackquay/proxy/address-set'
import { clientAddress } from '@stackquay/proxy/client-address'

/** Where a request came from, as far as it can be believed. */
export interface ClientReader {
  /** `unknown` when a trusted proxy names somebody who cannot be read. */
  addressOf(message: IncomingMessage): string
  /** Whether the browser spoke TLS, to us or to a trusted proxy in front. */
  isSecure(message: IncomingMessage): boolean
}

/** `X-Forwarded-*` counts only from `trustedProxies` (addresses or CIDR blocks), by the same rule as in front of projects. */
export function createClientReader(
  trustedProxies: readonly string[] | (() => readonly string[]),
  baseUrl: string | undefined,
): ClientReader {
  let known: readonly string[] = []
  let set: ReturnType<typeof addressSet> | null = null
  /** They can change: made again when they are others. */
  const trusted = () => {
    const now = typeof trustedProxies === 'function' ? trustedProxies() : trustedProxies
    if (now !== known) {
      known = now
      set = now.length === 0 ? null : addressSet(now)
    }
    return set
  }
  const alwaysSecure = baseUrl?.startsWith('https:') ?? false

  return {
    addressOf: (message) => clientAddress(message, trusted()).address ?? 'unknown',
    isSecure: (message) =>
      alwaysSecure || 'encrypted' in message.socket || clientAddress(message, trusted()).proto === 'https',
  }
}
