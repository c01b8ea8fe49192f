import { lookup as systemLookup } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { request as httpRequest } from '../http/node-http.ts'
import { addressBlocker } from './receivers.ts'

export interface PostResult {
  /** HTTP status of the answer; null when there was none. */
  readonly status: number | null
  /** Why it does not count as received; null when it does. */
  readonly error: string | null
  readonly retryAfter: string | undefined
  /** The beginning of the answer’s body, where it was asked for. */
  readonly answer?: string
}

/** How long a receiver may take. Standard Webhooks asks senders for 15 to 30 seconds. */
const timeoutMs = 20_000

/**
 * Sends a body and looks at the status alone: 2xx is received. Redirects are not followed, because the address was an
 * administrator's choice and another is not. Of the answer's body nothing is kept but its first `answerBytes`. Never throws.
 */
export function post(
  url: string,
  headers: Record<string, string>,
  body: string | Buffer,
  signal: AbortSignal,
  lookup = systemLookup,
  answerBytes = 0,
): Promise<PostResult> {
  const { promise, resolve } = Promise.withResolvers<PostResult>()
  const failed = (error: string) => resolve({ status: null, error, retryAfter: undefined })
  const both = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  try {
    const target = new URL(url)
    const blocker = addressBlocker(target.hostname.replace(/^\[|\]$/g, ''))
    if (blocker !== null) throw new Error(blocker)
    const send = target.protocol === 'https:' ? httpsRequest : httpRequest
    const request = send(
      target,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(body)),
          'user-agent': 'Stackquay-Webhooks/1',
          ...headers,
        },
        // A connection of its own: nothing of one receiver waits for another.
        agent: false,
        lookup: checkedLookup(addressBlocker, lookup),
        signal: both,
        maxHeaderSize: 16 * 1024,
      },
      (response) => {
        const status = response.statusCode ?? 0
        const error = status >= 200 && status < 300 ? null : `The receiver answered ${status}.`
        const result = { status, error, retryAfter: response.headers['retry-after'] }
        if (answerBytes === 0) {
          resolve(result)
          response.destroy()
        } else {
          void beginningOf(response, answerBytes).then((answer) => resolve({ ...result, answer }))
        }
      },
    )
    request.on('error', (error) => failed(both.aborted && !signal.aborted ? noAnswer : error.message || String(error)))
    request.end(body)
  } catch (error) {
    failed(error instanceof Error ? error.message : String(error))
  }
  return promise
}

/** What came of it when it is cut off is the answer too. */
async function beginningOf(response: IncomingMessage, bytes: number): Promise<string> {
  const parts: Buffer[] = []
  let length = 0
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      parts.push(part)
      length += part.length
      if (length >= bytes) break
    }
  } catch {}
  response.destroy()
  return Buffer.concat(parts).subarray(0, bytes).toString('utf8')
}

const noAnswer = `The receiver did not answer within ${timeoutMs / 1000} seconds.`

/** Looked at where the connection is made, so that a name cannot mean one address when asked and another when used. */
export function checkedLookup(blockerOf: (address: string) => string | null, lookup = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '')
      const blocker = addresses.map(({ address }) => blockerOf(address)).find((one) => one !== null)
      if (blocker !== undefined && blocker !== null) return callback(new Error(blocker), '')
      if (options.all === true) return callback(null, addresses)
      const [first] = addresses
      if (first === undefined) return callback(new Error(`"${hostname}" has no address.`), '')
      return callback(null, first.address, first.family)
    })
  }
}
