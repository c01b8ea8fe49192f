import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ProxyCertificate, ProxyCertificates } from '../certificates.ts'
import { ByName } from './by-name.ts'

/** What the certificates say about names, for requests. */
export interface TlsNames {
  certificateOf(host: string): ProxyCertificate | undefined
  /** What is answered to who validates the name. */
  http01(host: string, token: string): string | undefined
}

export function tlsNames({ certificates, http01 }: ProxyCertificates): TlsNames {
  const byName = new ByName(certificates.flatMap((one) => one.names.map((name) => [name, one] as const)))
  const answers = new Map(http01.map(({ name, token, answer }) => [`${name}/${token}`, answer]))
  return {
    certificateOf: (host) => byName.get(host),
    http01: (host, token) => answers.get(`${host}/${token}`),
  }
}

/** Names that a certificate holds for: those of its connections are answered, others are misdirected (RFC 9110, 15.5.20). */
export function holdsFor({ names }: Pick<ProxyCertificate, 'names'>, host: string): boolean {
  if (names.includes(host)) return true
  const dot = host.indexOf('.')
  return dot !== -1 && names.includes(`*${host.slice(dot)}`)
}

const secured = new WeakMap<Socket, ProxyCertificate>()

/** The certificate that a connection was made with. */
export function rememberCertificate(socket: Socket, certificate: ProxyCertificate): void {
  secured.set(socket, certificate)
}

export function certificateOf({ socket }: Pick<IncomingMessage, 'socket'>): ProxyCertificate | undefined {
  return secured.get(socket)
}
