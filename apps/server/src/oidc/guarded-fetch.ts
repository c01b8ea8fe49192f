import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isLoopback } from '@stackquay/domain'
import { request as httpRequest } from '../http/node-http.ts'
import { checkedLookup } from '../webhooks/post.ts'
import { isRefusedAddress } from '../webhooks/receivers.ts'

/** The provider did not answer, or with what no provider answers. Nothing is known of the person then. */
export class ProviderUnreachable extends Error {
  override readonly name = 'ProviderUnreachable'
}

export interface GuardedFetchOptions {
  /** The provider is on this very machine: only then is anything asked without TLS. */
  readonly loopback: boolean
  readonly timeoutMs?: number
  readonly maxBytes?: number
}

/** What the library asks with. `status` of a redirect is an answer like any other: it is never followed. */
export type GuardedFetch = (
  url: string,
  options: {
    readonly method?: string | undefined
    readonly headers?: Record<string, string> | undefined
    readonly body?: unknown
    readonly signal?: AbortSignal | undefined
  },
) => Promise<Response>

/**
 * The addresses of a provider’s endpoints are what its metadata say, so a hostile one could name any. None is asked without TLS, none that
 * belongs to the machine’s own credentials, and no answer takes longer or is larger than one of a provider.
 */
export function guardedFetch({
  loopback,
  timeoutMs = 8_000,
  maxBytes = 512 * 1024,
}: GuardedFetchOptions): GuardedFetch {
  return async (address, { method = 'GET', headers = {}, body, signal }) => {
    const url = new URL(address)
    refuse(url, loopback)
    const both = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])])
    try {
      return await ask(url, { method, headers, body: textOf(body), signal: both, maxBytes })
    } catch (error) {
      if (error instanceof ProviderUnreachable) throw error
      const why = both.aborted ? `took longer than ${timeoutMs / 1000} s` : messageOf(error)
      throw new ProviderUnreachable(`${url.host} did not answer: ${why}.`, { cause: error })
    }
  }
}

function refuse(url: URL, loopback: boolean): void {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (url.protocol !== 'https:' && !(loopback && url.protocol === 'http:' && isLoopback(host)))
    throw new ProviderUnreachable(`${url.host} is not asked without TLS.`)
  if (isRefusedAddress(host)) throw new ProviderUnreachable(`${url.host} belongs to the machine itself.`)
}

interface Ask {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
  readonly signal: AbortSignal
  readonly maxBytes: number
}

async function ask(url: URL, { method, headers, body, signal, maxBytes }: Ask): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const blocker = (address: string) => (isRefusedAddress(address) ? 'its address belongs to the machine itself' : null)
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  const sent = { ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) }
  const options = { method, headers: sent, agent: false, lookup: checkedLookup(blocker), signal, maxHeaderSize: 16_384 }
  const request = send(url, options, resolve)
  request.on('error', reject)
  request.end(body)
  const response = await promise
  const parts: Buffer[] = []
  let length = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length
    if (length > maxBytes) {
      response.destroy()
      throw new ProviderUnreachable(`${url.host} answered more than ${maxBytes / 1024} KB.`)
    }
    parts.push(part)
  }
  const status = response.statusCode ?? 502
  const known = new Headers()
  for (const [name, value] of Object.entries(response.headers)) {
    if (typeof value === 'string') known.set(name, value)
  }
  const isEmpty = status === 204 || status === 205 || status === 304
  return new Response(isEmpty ? null : Buffer.concat(parts), { status: Math.max(200, status), headers: known })
}

function textOf(body: unknown): string | undefined {
  return body === undefined || body === null ? undefined : String(body)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || String((error as { code?: string }).code) : String(error)
}
