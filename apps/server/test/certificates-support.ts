import 'reflect-metadata'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import * as x509 from '@peculiar/x509'

export const day = 24 * 3600_000

export interface MadePair {
  readonly certificate: string
  readonly key: string
  readonly parsed: x509.X509Certificate
  readonly signingKey: CryptoKey
}

interface Traits {
  readonly names?: readonly string[]
  readonly subject?: string
  readonly signer?: MadePair
  readonly isAuthority?: boolean
  readonly days?: readonly [from: number, to: number]
  readonly use?: string
}

const curve = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** A certificate as an authority would make it. */
export async function makePair(traits: Traits = {}): Promise<MadePair> {
  const { names = [], subject = 'CN=test', signer, isAuthority = false, days = [-1, 90], use } = traits
  const keys = await crypto.subtle.generateKey(curve, true, ['sign', 'verify'])
  const parsed = await x509.X509CertificateGenerator.create({
    serialNumber: Buffer.from(crypto.getRandomValues(new Uint8Array(8)))
      .toString('hex')
      .replace(/^./, '4'),
    subject,
    issuer: signer?.parsed.subject ?? subject,
    notBefore: new Date(Date.now() + days[0] * day),
    notAfter: new Date(Date.now() + days[1] * day),
    signingKey: signer?.signingKey ?? keys.privateKey,
    publicKey: keys.publicKey,
    signingAlgorithm: curve,
    extensions: [
      new x509.BasicConstraintsExtension(isAuthority, undefined, true),
      ...(names.length === 0
        ? []
        : [new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value })))]),
      ...(use === undefined ? [] : [new x509.ExtendedKeyUsageExtension([use])]),
    ],
  })
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  const key = `-----BEGIN PRIVATE KEY-----\n${der.match(/.{1,64}/g)!.join('\n')}\n-----END PRIVATE KEY-----\n`
  return { certificate: `${parsed.toString('pem')}\n`, key, parsed, signingKey: keys.privateKey }
}

export function pemOf(key: KeyObject, password?: string): string {
  const sealed = password === undefined ? {} : { cipher: 'aes-256-cbc', passphrase: password }
  return String(key.export({ type: 'pkcs8', format: 'pem', ...sealed }))
}

export const rsaKey = (bits: number) => generateKeyPairSync('rsa', { modulusLength: bits }).privateKey
