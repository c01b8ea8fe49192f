import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'

/** Why a certificate cannot be used: the field that it is about, a code that stays, and a sentence. */
export interface CertificateFault {
  readonly field: 'certificate' | 'key' | 'chain'
  readonly code: string
  readonly detail: string
}

export class UnusableCertificate extends Error {
  override readonly name = 'UnusableCertificate'
  readonly fault: CertificateFault
  constructor(field: CertificateFault['field'], code: string, detail: string) {
    super(detail)
    this.fault = { field, code, detail }
  }
}

const blocks = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g
const mostCertificates = 10

/** The certificates of a text in PEM, in their order. */
export function readCertificates(text: string, field: 'certificate' | 'chain'): readonly X509Certificate[] {
  const found = [...text.matchAll(blocks)]
  const other = found.find(([, kind]) => kind !== 'CERTIFICATE' && kind !== 'EC PARAMETERS')
  if (other?.[1]?.includes('KEY'))
    throw new UnusableCertificate(field, 'not_a_certificate', 'There is a key in it. Put that in "key".')
  const pems = found.filter(([, kind]) => kind === 'CERTIFICATE').map(([pem]) => pem)
  if (pems.length === 0) {
    const detail = 'It holds no certificate in PEM: a text that begins with -----BEGIN CERTIFICATE-----.'
    const hint = ' From DER: openssl x509 -inform der -in file.cer -out file.pem'
    throw new UnusableCertificate(field, 'not_a_certificate', detail + hint)
  }
  if (pems.length > mostCertificates)
    throw new UnusableCertificate(field, 'chain_broken', `It holds more than ${mostCertificates} certificates.`)
  return pems.map((pem, index) => {
    try {
      const read = new X509Certificate(pem)
      // Some of what is broken shows only when it is asked for.
      void [read.publicKey.asymmetricKeyType, read.subjectAltName, read.validToDate.toISOString()]
      return read
    } catch {
      throw new UnusableCertificate(field, 'not_a_certificate', `Certificate ${index + 1} in it cannot be read.`)
    }
  })
}

/** The private key, which has no password. */
export function readKey(text: string): KeyObject {
  const kinds = [...text.matchAll(blocks)].map(([, kind]) => kind)
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text)) {
    const detail = 'The key has a password. Take it away: openssl pkey -in key.pem -out plain.pem'
    throw new UnusableCertificate('key', 'key_encrypted', detail)
  }
  if (!kinds.some((kind) => kind?.endsWith('PRIVATE KEY'))) {
    const isPublic = kinds.includes('PUBLIC KEY')
    const detail = isPublic ? 'It is the public key; the private one is needed.' : 'It holds no private key in PEM.'
    throw new UnusableCertificate('key', 'not_a_key', detail)
  }
  try {
    return createPrivateKey(text)
  } catch {
    throw new UnusableCertificate('key', 'not_a_key', 'The private key cannot be read.')
  }
}

const curves: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1', 'secp521r1'])

/** Kinds that every browser takes. */
export function weakness({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string | null {
  if (asymmetricKeyType === 'rsa') {
    const bits = asymmetricKeyDetails?.modulusLength ?? 0
    return bits >= 2048 ? null : `RSA with ${bits} bits is too weak: 2048 at least.`
  }
  if (asymmetricKeyType === 'ec' && curves.has(asymmetricKeyDetails?.namedCurve ?? '')) return null
  return 'Browsers take keys of the kinds RSA and EC (P-256, P-384, P-521) alone.'
}

/** DNS names of a certificate, in lower case. What no host can be called is left out. */
export function dnsNames({ subjectAltName }: X509Certificate): readonly string[] {
  const names = (subjectAltName ?? '').split(', ').flatMap((part) => (part.startsWith('DNS:') ? [part.slice(4)] : []))
  const lower = names.map((name) => name.toLowerCase())
  return [...new Set(lower)].filter((name) => hostName.test(name)).sort()
}

const hostName = /^(\*\.)?[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?$/

/** As people read it: its common name, else its organisation. */
export function nameOf(distinguished: string | undefined): string {
  const field = (key: string) => new RegExp(`^${key}=(.+)$`, 'm').exec(distinguished ?? '')?.[1]
  return field('CN') ?? field('O') ?? 'unnamed'
}
