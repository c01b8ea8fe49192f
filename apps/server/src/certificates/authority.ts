import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { localAddressBlocks, localCaDays } from '@stackquay/domain'
import { nameConstraints, nameConstraintsId } from './name-constraints.ts'

/** A certificate and its key, both PEM. */
export interface MadeCertificate {
  readonly certificate: string
  readonly key: string
  readonly notBefore: Date
  readonly notAfter: Date
}

const curve = { name: 'ECDSA', namedCurve: 'P-256' } as const
const signing = { name: 'ECDSA', hash: 'SHA-256' } as const

/** Large, and needed at few moments. */
async function library() {
  await import('reflect-metadata')
  return import('@peculiar/x509')
}

/** A new authority that can speak for these domains, and addresses of private networks, alone. */
export async function makeAuthority(
  { domains, host }: { readonly domains: readonly string[]; readonly host: string },
  now: Date,
): Promise<MadeCertificate> {
  const x509 = await library()
  const keys = await crypto.subtle.generateKey(curve, true, ['sign', 'verify'])
  const notBefore = new Date(Math.floor(now.getTime() / 1000) * 1000 - 3600_000)
  const notAfter = new Date(notBefore.getTime() + localCaDays * 24 * 3600_000)
  // Its own name, so that two of them in one store of trusted ones can be told apart.
  const mark = randomBytes(4).toString('hex')
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: [{ CN: [`Stackquay local CA ${mark}`] }, { O: ['Stackquay'] }, { OU: [printable(host)] }],
    notBefore,
    notAfter,
    keys,
    signingAlgorithm: signing,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      new x509.Extension(nameConstraintsId, true, new Uint8Array(nameConstraints(domains, localAddressBlocks))),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { certificate: `${made.toString('pem')}\n`, key: await pemOf(keys.privateKey), notBefore, notAfter }
}

/** A certificate for these names and addresses, signed by the authority. */
export async function signLeaf(
  authority: { readonly certificate: string; readonly key: string },
  names: readonly string[],
  times: { readonly notBefore: Date; readonly notAfter: Date },
): Promise<MadeCertificate> {
  const x509 = await library()
  const issuer = new x509.X509Certificate(authority.certificate)
  const signingKey = await crypto.subtle.importKey('pkcs8', derOf(authority.key), curve, false, ['sign'])
  const keys = await crypto.subtle.generateKey(curve, true, ['sign', 'verify'])
  const alternatives = names.map((name) => ({
    type: isIP(name) === 0 ? ('dns' as const) : ('ip' as const),
    value: name,
  }))
  const made = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    // Without a common name, which may be no longer than 64 characters and which nobody reads.
    subject: [{ O: ['Stackquay'] }],
    issuer: issuer.subjectName,
    ...times,
    signingKey,
    publicKey: keys.publicKey,
    signingAlgorithm: signing,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(alternatives),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { certificate: `${made.toString('pem')}\n`, key: await pemOf(keys.privateKey), ...times }
}

/** Positive, and nobody can guess it. */
function serial(): string {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x7f) | 0x40
  return bytes.toString('hex')
}

async function pemOf(key: CryptoKey): Promise<string> {
  const text = Buffer.from(await crypto.subtle.exportKey('pkcs8', key)).toString('base64')
  return `-----BEGIN PRIVATE KEY-----\n${text.match(/.{1,64}/g)!.join('\n')}\n-----END PRIVATE KEY-----\n`
}

function derOf(pem: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64'))
}

/** Of a host name, what a distinguished name takes. */
function printable(host: string): string {
  return host.replace(/[^A-Za-z0-9 .-]/g, '').slice(0, 60) || 'this machine'
}
