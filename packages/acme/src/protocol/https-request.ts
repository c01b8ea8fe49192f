import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { AcmeError } from '../failure.ts'

export interface Reach {
  /** PEM of roots that are trusted besides those of the system: a certificate authority of a company. */
  readonly roots?: string | undefined
  /** In place of the system's, where not every address may be connected to. */
  readonly lookup?: LookupFunction | undefined
}

export interface HttpsAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

export interface HttpsCall {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** No answer of a certificate authority or of a DNS provider is longer. */
const mostBytes = 1 << 20
const idleMs = 30_000

/** One request, without redirects, never without TLS but to loopback. Fails when nothing answers, not by the status. */
export async function httpsRequest(call: HttpsCall, reach: Reach, signal: AbortSignal): Promise<HttpsAnswer> {
  const url = new URL(call.url)
  const http = await moduleFor(url)
  const ca = reach.roots === undefined ? undefined : await trusted(reach.roots)
  return new Promise((resolve, reject) => {
    const request = http.request(url, {
      method: call.method,
      headers: {
        'user-agent': 'Stackquay',
        ...(call.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(call.body)) }),
        ...call.headers,
      },
      signal,
      agent: false,
      ...(ca === undefined ? {} : { ca }),
      ...(reach.lookup === undefined ? {} : { lookup: reach.lookup }),
    })
    request.setTimeout(idleMs, () => request.destroy(new Error(`no answer within ${idleMs / 1000} s`)))
    request.once('error', (error) => reject(signal.aborted ? signal.reason : asAcmeError(error, url)))
    request.once('response', (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        chunks.push(chunk)
        if (size > mostBytes) request.destroy(new Error(`an answer of more than ${mostBytes} bytes`))
      })
      response.once('error', (error) => reject(asAcmeError(error, url)))
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
    request.end(call.body)
  })
}

async function moduleFor(url: URL) {
  if (url.protocol === 'https:') return import('node:https')
  if (url.protocol === 'http:' && isLoopback(url.hostname)) return import('node:http')
  throw new AcmeError(
    'server_untrusted',
    `${url.origin} is not an https:// address. Give one that begins with https://.`,
  )
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}

async function trusted(roots: string): Promise<string[]> {
  const { rootCertificates } = await import('node:tls')
  return [...rootCertificates, roots]
}

const untrusted = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])

function asAcmeError(error: NodeJS.ErrnoException, url: URL): AcmeError {
  const code = error.code ?? ''
  if (code === 'CERT_NOT_YET_VALID' || code === 'CERT_HAS_EXPIRED')
    return new AcmeError(
      'clock_off',
      `The certificate of ${url.host} is ${code === 'CERT_HAS_EXPIRED' ? 'expired' : 'not valid yet'} by the clock of this machine, which says ${new Date().toISOString()}. Check the clock first.`,
      { cause: error },
    )
  if (untrusted.has(code))
    return new AcmeError(
      'server_untrusted',
      `The certificate of ${url.host} is not trusted here (${code}). For a certificate authority of your own give its root certificate.`,
      { cause: error },
    )
  return new AcmeError(
    'server_unreachable',
    `${url.host} does not answer: ${error.message || code}. Check that this machine may connect there.`,
    { cause: error },
  )
}
