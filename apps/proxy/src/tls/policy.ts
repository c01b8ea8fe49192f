import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ProxyCertificate, ProxyCertificates } from '../certificates.ts'
import { misdirectedError } from '../error-responses.ts'
import { errorAnswer, type GateAnswer } from '../gate/rule.ts'
import type { RequestContext } from '../request-context.ts'
import { hostName } from '../route-index.ts'
import type { TlsRules } from '../tls-rules.ts'
import { isEncrypted } from './is-encrypted.ts'
import { certificateOf, holdsFor, type TlsNames, tlsNames } from './names.ts'

const challengePath = '/.well-known/acme-challenge/'
export const hsts = 'strict-transport-security'

/** What certificates and those who validate names mean for requests. */
export class TlsPolicy implements TlsRules {
  readonly #names: TlsNames
  /** Where https is listened at; null: nowhere, so nothing is redirected there. */
  readonly #port: number | null

  constructor(certificates: ProxyCertificates, port: number | null) {
    this.#names = tlsNames(certificates)
    this.#port = port
  }

  /**
   * Before it is known where a request leads: answers who validates a name, ahead of any rule of a project. False for every other
   * request; those over TLS get HSTS where it is wanted, whatever answers them.
   */
  answersFirst(request: IncomingMessage, response: ServerResponse): boolean {
    if (!isEncrypted(request.socket)) return this.#answersChallenge(request, response)
    const seconds = certificateOf(request)?.hstsSeconds ?? null
    if (seconds !== null) response.setHeader(hsts, `max-age=${seconds}`)
    return false
  }

  /** What stands in for the project because of TLS; null: nothing. */
  insteadOf(request: IncomingMessage, { host, client, path, route }: RequestContext): GateAnswer | null {
    if (isEncrypted(request.socket))
      return isMisdirected(certificateOf(request), host) ? errorAnswer(misdirectedError) : null
    // Another proxy in front has ended TLS, or a program brings people to a share: they use the scheme that those offer.
    if (this.#port === null || client.proto === 'https' || route.share?.entrance !== undefined) return null
    if (this.#names.certificateOf(host)?.redirect !== true) return null
    const location = `https://${host}${portBehind(request, this.#port)}${path}`
    return { status: 308, headers: [['location', location]], error: null }
  }

  #answersChallenge({ url, headers, method }: IncomingMessage, response: ServerResponse): boolean {
    if (url === undefined || !url.startsWith(challengePath) || (method !== 'GET' && method !== 'HEAD')) return false
    const host = hostName(headers.host ?? '')
    const answer = host === undefined ? undefined : this.#names.http01(host, url.slice(challengePath.length))
    if (answer === undefined) return false
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-length': Buffer.byteLength(answer),
      'cache-control': 'no-store',
    })
    response.end(answer)
    return true
  }
}

/** A name that the certificate of the connection does not hold for: the client is to open another (RFC 9110, 15.5.20). */
export function isMisdirected(certificate: ProxyCertificate | undefined, host: string): boolean {
  return certificate !== undefined && !holdsFor(certificate, host)
}

/**
 * A request that names no port came through something that has the usual ones and leads here, which then has 443 too; unless it is
 * this proxy itself that listens on 80.
 */
function portBehind({ headers, socket }: IncomingMessage, port: number): string {
  const isUsual = !/:\d+$/.test(headers.host ?? '') && socket.localPort !== 80
  return isUsual || port === 443 ? '' : `:${port}`
}
