import type { IncomingMessage } from 'node:http'
import { BlockList, isIPv6 } from 'node:net'

/** Where a request came from, as far as it can be believed. */
export interface ClientReader {
  addressOf(message: IncomingMessage): string
  /** Whether the browser spoke TLS, to us or to a trusted proxy in front. */
  isSecure(message: IncomingMessage): boolean
}

/** `X-Forwarded-*` counts only from `trustedProxies` (addresses or CIDR blocks): anybody can write those headers. */
export function createClientReader(trustedProxies: readonly string[], baseUrl: string | undefined): ClientReader {
  const trusted = blockListOf(trustedProxies)
  const alwaysSecure = baseUrl?.startsWith('https:') ?? false
  const isTrusted = (address: string) => trusted?.check(address, isIPv6(address) ? 'ipv6' : 'ipv4') ?? false

  return {
    addressOf(message) {
      const peer = plain(message.socket.remoteAddress ?? '')
      if (trusted === null || !isTrusted(peer)) return peer
      const hops = String(message.headers['x-forwarded-for'] ?? '')
        .split(',')
        .map((hop) => plain(hop.trim()))
        .filter(Boolean)
      return hops.findLast((hop) => !isTrusted(hop)) ?? hops[0] ?? peer
    },
    isSecure(message) {
      if (alwaysSecure || 'encrypted' in message.socket) return true
      return isTrusted(plain(message.socket.remoteAddress ?? '')) && message.headers['x-forwarded-proto'] === 'https'
    },
  }
}

function blockListOf(blocks: readonly string[]): BlockList | null {
  if (blocks.length === 0) return null
  const list = new BlockList()
  for (const block of blocks) {
    const [address = '', bits] = block.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

/** IPv4 over an IPv6 socket is the same machine as over an IPv4 one. */
function plain(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}
