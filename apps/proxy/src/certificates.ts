import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'

/**
 * `PUT /certificates` on the control socket: all that the proxy needs to speak TLS. It replaces what was there before, and is kept
 * in memory alone: whoever starts the proxy sends it again.
 */
export interface ProxyCertificates {
  /** Counts the control plane's changes; `status` reports it back. */
  readonly generation: number
  /** An exact name wins over a wildcard, and of several the one named first. */
  readonly certificates: readonly ProxyCertificate[]
  /** Answers at `/.well-known/acme-challenge/<token>` over plain HTTP (RFC 8555, 8.3). */
  readonly http01: readonly Http01Answer[]
  /** Certificates that are shown to who validates a name by `acme-tls/1` (RFC 8737). */
  readonly tlsAlpn01: readonly TlsAlpn01Answer[]
}

export interface ProxyCertificate {
  readonly id: string
  /** In lower case; `*.example.org` is all names one label below. */
  readonly names: readonly string[]
  /** In PEM: its own, then those above it. */
  readonly certificate: string
  /** In PEM, without a password. */
  readonly key: string
  /** Requests over plain HTTP are sent to https. */
  readonly redirect: boolean
  /** `Strict-Transport-Security: max-age`; null: none. */
  readonly hstsSeconds: number | null
}

export interface Http01Answer {
  readonly name: string
  readonly token: string
  readonly answer: string
}

export interface TlsAlpn01Answer {
  readonly name: string
  readonly certificate: string
  readonly key: string
}

export const noCertificates: ProxyCertificates = { generation: 0, certificates: [], http01: [], tlsAlpn01: [] }

/** Its message never holds a key. */
export class CertificatesError extends Error {
  override readonly name = 'CertificatesError'
}

/** Throws CertificatesError at the first mistake. What it lets through, TLS can use. */
export function parseCertificates(input: unknown): ProxyCertificates {
  const all = fieldsOf(input, 'certificates', ['generation', 'certificates', 'http01', 'tlsAlpn01'])
  if (!Number.isSafeInteger(all.generation)) fail('generation', 'must be a whole number')
  return {
    generation: all.generation as number,
    certificates: listOf(all.certificates, 'certificates').map((one, index) =>
      parseCertificate(one, `certificates[${index}]`),
    ),
    http01: listOf(all.http01, 'http01').map((one, index) => parseHttp01(one, `http01[${index}]`)),
    tlsAlpn01: listOf(all.tlsAlpn01, 'tlsAlpn01').map((one, index) => parseTlsAlpn01(one, `tlsAlpn01[${index}]`)),
  }
}

function parseCertificate(input: unknown, at: string): ProxyCertificate {
  const one = fieldsOf(input, at, ['id', 'names', 'certificate', 'key', 'redirect', 'hstsSeconds'])
  const { redirect, hstsSeconds } = one
  if (typeof redirect !== 'boolean') fail(`${at}.redirect`, 'must be true or false')
  if (hstsSeconds !== null && !(Number.isSafeInteger(hstsSeconds) && (hstsSeconds as number) >= 0))
    fail(`${at}.hstsSeconds`, 'must be seconds, or null')
  return {
    id: textOf(one.id, `${at}.id`),
    names: listOf(one.names, `${at}.names`).map((name, index) => nameOf(name, `${at}.names[${index}]`)),
    ...pairOf(one, at),
    redirect,
    hstsSeconds: hstsSeconds as number | null,
  }
}

function parseHttp01(input: unknown, at: string): Http01Answer {
  const one = fieldsOf(input, at, ['name', 'token', 'answer'])
  const fits = (value: unknown, form: RegExp, field: string) =>
    typeof value === 'string' && form.test(value) ? value : fail(`${at}.${field}`, 'must be base64url')
  return {
    name: nameOf(one.name, `${at}.name`),
    token: fits(one.token, /^[A-Za-z0-9_-]{1,512}$/, 'token'),
    answer: fits(one.answer, /^[A-Za-z0-9_.-]{1,1024}$/, 'answer'),
  }
}

function parseTlsAlpn01(input: unknown, at: string): TlsAlpn01Answer {
  const one = fieldsOf(input, at, ['name', 'certificate', 'key'])
  return { name: nameOf(one.name, `${at}.name`), ...pairOf(one, at) }
}

/** A chain that can be read, and the key of its first certificate. */
function pairOf(
  { certificate, key }: Readonly<Record<string, unknown>>,
  at: string,
): Pick<ProxyCertificate, 'certificate' | 'key'> {
  const chain = textOf(certificate, `${at}.certificate`)
  const parts = chain.match(pemCertificates) ?? []
  if (parts.length === 0) fail(`${at}.certificate`, 'holds no certificate in PEM')
  const [own] = parts.map((pem, index) => readCertificate(pem, `${at}.certificate`, index))
  const secret = readKey(textOf(key, `${at}.key`), `${at}.key`)
  if (!own!.checkPrivateKey(secret)) fail(`${at}.key`, 'is not the key of the certificate')
  refuseWeak(secret, `${at}.key`)
  return { certificate: chain, key: key as string }
}

const pemCertificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function readCertificate(pem: string, at: string, index: number): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    return fail(at, `holds something at place ${index + 1} that is no certificate`)
  }
}

function readKey(pem: string, at: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    return fail(at, 'is no private key in PEM, or has a password')
  }
}

/** Browsers refuse shorter ones, and so does the TLS library here, with less clear words. */
function refuseWeak({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject, at: string): void {
  const isRsa = asymmetricKeyType === 'rsa' || asymmetricKeyType === 'rsa-pss'
  if (isRsa && (asymmetricKeyDetails?.modulusLength ?? 0) < 2048) fail(at, 'is an RSA key of less than 2048 bits')
  if (!isRsa && asymmetricKeyType !== 'ec' && asymmetricKeyType !== 'ed25519')
    fail(at, `is a key of the kind ${asymmetricKeyType}, which browsers do not know`)
}

function nameOf(input: unknown, at: string): string {
  return typeof input === 'string' && /^(\*\.)?[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?$/.test(input)
    ? input
    : fail(at, 'must be a host name in lower case')
}

function fieldsOf(input: unknown, at: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) fail(at, 'must be an object')
  const unknown = Object.keys(input).find((key) => !known.includes(key))
  if (unknown !== undefined) fail(`${at}.${unknown}`, 'is not known to this proxy')
  return input as Readonly<Record<string, unknown>>
}

function listOf(input: unknown, at: string): readonly unknown[] {
  return Array.isArray(input) ? input : fail(at, 'must be a list')
}

function textOf(input: unknown, at: string): string {
  return typeof input === 'string' ? input : fail(at, 'must be a text')
}

function fail(at: string, what: string): never {
  throw new CertificatesError(`${at} ${what}`)
}
