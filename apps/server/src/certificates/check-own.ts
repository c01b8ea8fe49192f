import type { KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext, rootCertificates } from 'node:tls'
import type { TlsCertificatePut } from '@stackquay/contract'
import { dnsNames, nameOf, readCertificates, readKey, UnusableCertificate, weakness } from './read-certificate.ts'

/** A certificate that TLS can use: its chain in order, and its key. */
export interface OwnCertificate {
  readonly certificate: string
  readonly key: string
  readonly names: readonly string[]
  readonly notBefore: string
  readonly notAfter: string
}

/** Throws `UnusableCertificate` with what is wrong and what to do. */
export function checkOwn(input: TlsCertificatePut, now: Date): OwnCertificate {
  const all = [
    ...readCertificates(input.certificate, 'certificate'),
    ...(input.chain === undefined ? [] : readCertificates(input.chain, 'chain')),
  ]
  const key = readKey(input.key)
  const [leaf, ...above] = all as [X509Certificate, ...X509Certificate[]]
  checkPair(leaf, above, key)
  checkTimes(all, now)
  checkUse(all)
  const names = dnsNames(leaf)
  if (names.length === 0) {
    const detail = 'It has no DNS names (subject alternative names), which browsers look for alone.'
    throw new UnusableCertificate('certificate', 'no_names', detail)
  }
  checkChain(all)
  const field = above.length > 0 && isSelfSigned(above.at(-1)!) ? above.slice(0, -1) : above
  const made = {
    certificate: [leaf, ...field].map((one) => one.toString()).join(''),
    key: String(key.export({ type: 'pkcs8', format: 'pem' })),
  }
  try {
    createSecureContext({ cert: made.certificate, key: made.key })
  } catch {
    throw new UnusableCertificate('certificate', 'not_usable', 'The TLS library of this machine does not take it.')
  }
  const { validFromDate, validToDate } = leaf
  return { ...made, names, notBefore: validFromDate.toISOString(), notAfter: validToDate.toISOString() }
}

function checkPair(leaf: X509Certificate, above: readonly X509Certificate[], key: KeyObject): void {
  const weak = weakness(key)
  if (weak !== null) throw new UnusableCertificate('key', 'key_weak', weak)
  if (leaf.checkPrivateKey(key)) return
  const place = above.findIndex((one) => one.checkPrivateKey(key))
  if (place >= 0) {
    const detail = `The certificate of the key stands at place ${place + 2}. Put it first, then each that signed the one before.`
    throw new UnusableCertificate('certificate', 'chain_broken', detail)
  }
  throw new UnusableCertificate('key', 'key_mismatch', `It is not the key of the certificate of ${shown(leaf)}.`)
}

function checkTimes(all: readonly X509Certificate[], now: Date): void {
  for (const one of all) {
    if (one.validToDate.getTime() > now.getTime()) continue
    const until = one.validToDate.toISOString().slice(0, 10)
    throw new UnusableCertificate('certificate', 'expired', `The certificate of ${shown(one)} ended on ${until}.`)
  }
}

const serverUse = '1.3.6.1.5.5.7.3.1'

function checkUse([leaf, ...above]: readonly X509Certificate[]): void {
  const uses = leaf!.keyUsage as readonly string[] | undefined
  if (uses !== undefined && !uses.includes(serverUse))
    throw new UnusableCertificate('certificate', 'not_for_servers', 'It is not for servers (extended key usage).')
  for (const one of [leaf!, ...above]) {
    const algorithm = one.signatureAlgorithm ?? ''
    if (isSelfSigned(one) || !/md[245]|sha-?1(?!\d)/i.test(algorithm)) continue
    const detail = `The certificate of ${shown(one)} is signed with ${algorithm}, which browsers refuse.`
    throw new UnusableCertificate('certificate', 'signature_weak', detail)
  }
}

function checkChain(all: readonly X509Certificate[]): void {
  for (const [index, one] of all.slice(0, -1).entries()) {
    const next = all[index + 1]!
    if (one.checkIssued(next) && one.verify(next.publicKey)) continue
    const detail = `Certificate ${index + 2} (${shown(next)}) did not sign the one before it (${shown(one)}), which "${nameOf(one.issuer)}" signed. Each has to be followed by the one that signed it.`
    throw new UnusableCertificate(index === 0 ? 'certificate' : 'chain', 'chain_broken', detail)
  }
}

/** What keeps clients from trusting it that know the usual authorities alone; null when nothing does. */
export function chainWarning(pem: string): string | null {
  const last = readCertificates(pem, 'certificate').at(-1)!
  if (isSelfSigned(last)) return 'It signed itself: browsers warn of it unless they were told to trust it.'
  const isKnown = rootCertificates.some((root) => {
    const [authority] = readCertificates(root, 'chain')
    return authority !== undefined && last.checkIssued(authority)
  })
  if (isKnown) return null
  const where = /CA Issuers - URI:(\S+)/.exec(last.infoAccess ?? '')?.[1]
  const missing = `The certificate of "${nameOf(last.issuer)}", which signed that of ${shown(last)}, is not with it`
  return `${missing}${where === undefined ? '' : ` (${where})`}. Clients that do not know it refuse.`
}

function isSelfSigned(one: X509Certificate): boolean {
  return one.subject === one.issuer && one.checkIssued(one)
}

function shown(one: X509Certificate): string {
  return JSON.stringify(dnsNames(one)[0] ?? nameOf(one.subject)).slice(0, 120)
}
