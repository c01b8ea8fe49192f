import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { type AddressSet, plainAddress } from './address-set.ts'
import { isEncrypted } from './tls/is-encrypted.ts'

/** Where a request came from, and how much of its path is believed. */
export interface ClientAddress {
  /** Null when a trusted proxy names no readable address: then the client is unknown, and no list lets it in. */
  readonly address: string | null
  /** `X-Forwarded-For` as it goes on: the believed part of the path. */
  readonly forwardedFor: string
  /** The scheme that the client used, as far as it is known. */
  readonly proto: 'http' | 'https'
}

/**
 * The peer itself, unless it is a trusted proxy: then the last one in `X-Forwarded-For` that is none. What stands in front of
 * that one was written by itself, and is left out.
 */
export function clientAddress(request: IncomingMessage, trusted: AddressSet | null): ClientAddress {
  const peer = plainAddress(request.socket.remoteAddress ?? '')
  const own = isEncrypted(request.socket) ? 'https' : 'http'
  if (trusted === null || !trusted.has(peer)) return { address: peer, forwardedFor: peer, proto: own }
  const { headers } = request
  const said = headers['x-forwarded-proto']
  const proto = said === undefined ? own : String(said).split(',').at(-1)?.trim() === 'https' ? 'https' : 'http'
  const entries = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  const path = [peer]
  for (const entry of entries.toReversed()) {
    const address = readEntry(entry)
    if (address === null) return { address: null, forwardedFor: ['unknown', ...path].join(', '), proto }
    path.unshift(address)
    if (!trusted.has(address)) break
  }
  return { address: path[0]!, forwardedFor: path.join(', '), proto }
}

/** `192.0.2.1`, `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function readEntry(entry: string): string | null {
  const bare = /^\[(.+)\](?::\d+)?$/.exec(entry)?.[1] ?? (isIP(entry) === 0 ? entry.replace(/:\d+$/, '') : entry)
  return isIP(bare) === 0 ? null : plainAddress(bare)
}
