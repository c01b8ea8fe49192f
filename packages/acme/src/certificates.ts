import { createHash, createPrivateKey } from 'node:crypto'

/** Loaded when a certificate is asked for, not before: it needs memory that a service at rest does not spend. */
async function loadX509() {
  await import('reflect-metadata')
  return import('@peculiar/x509')
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

async function keysOf(pem: string): Promise<CryptoKeyPair> {
  const der = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' })
  const privateKey = await crypto.subtle.importKey('pkcs8', new Uint8Array(der), algorithm, true, ['sign'])
  const { d: _, key_ops: __, ...jwk } = await crypto.subtle.exportKey('jwk', privateKey)
  const publicKey = await crypto.subtle.importKey('jwk', jwk, algorithm, true, ['verify'])
  return { privateKey, publicKey }
}

/** A request for these names, as base64url DER. The subject stays empty: authorities read the names alone. */
export async function certificateRequest(names: readonly string[], keyPem: string): Promise<string> {
  const { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } = await loadX509()
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys: await keysOf(keyPem),
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value })))],
  })
  return Buffer.from(request.rawData).toString('base64url')
}

/** What answers TLS-ALPN-01 (RFC 8737): signed by itself, with the hash of the key authorization in a critical extension. */
export async function tlsAlpnCertificate(
  name: string,
  keyAuthorization: string,
  keyPem: string,
  now: Date,
): Promise<string> {
  const { Extension, SubjectAlternativeNameExtension, X509CertificateGenerator } = await loadX509()
  const hash = createHash('sha256').update(keyAuthorization).digest()
  // An octet string in DER: tag, length, bytes.
  const value = new Uint8Array([0x04, hash.length, ...hash])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: `CN=${name}`,
    notBefore: new Date(now.getTime() - 24 * 60 * 60 * 1000),
    notAfter: new Date(now.getTime() + 7 * 24 * 60 * 60 * 1000),
    keys: await keysOf(keyPem),
    signingAlgorithm: algorithm,
    extensions: [
      new SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
      new Extension('1.3.6.1.5.5.7.1.31', true, value),
    ],
  })
  return certificate.toString('pem')
}
