import { hostname } from 'node:os'
import { isLeafDue, isLocalName, leafTimes, localLeaves, type NeededHost, renewalOf } from '@stackquay/domain'
import { byTheService, type CertificateRow, type Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import { makeAuthority, signLeaf } from './authority.ts'
import { type KnownCertificates, pageSubject } from './known.ts'
import { pageNames } from './page-certificate.ts'

export interface LocalDeps {
  readonly store: Pick<Store, 'certificates' | 'transaction'>
  readonly known: Pick<KnownCertificates, 'authority' | 'domains' | 'serving' | 'page' | 'load'>
  readonly config: Pick<Config, 'baseDomain' | 'listen' | 'publicUrl' | 'tls' | 'proxyHttps'>
  readonly now: () => Date
}

/** Makes what the local authority has to have made, and deletes what it has not. Answers whether anything became another. */
export async function renewLocal(needed: readonly NeededHost[], deps: LocalDeps): Promise<boolean> {
  const { store, known, config, now } = deps
  const page = known.page()
  const before = [...known.serving().filter(({ source }) => source === 'local'), ...(page === null ? [] : [page])]
  if (!config.tls.local) return remove(before, deps)

  const authority = await authorityFor(deps)
  const key = (await store.certificates.key(authority.id)).expose()
  const wanted = new Map([
    ...(config.proxyHttps === null
      ? []
      : localLeaves(needed, { baseDomain: config.baseDomain, domains: authority.names })),
    [pageSubject, pageNames(config, authority.names)] as const,
  ])
  const gone = before.filter(({ subject }) => !wanted.has(subject))
  let changed = await remove(gone, deps)
  for (const [subject, names] of wanted) {
    const has = before.find((row) => row.subject === subject)
    if (has !== undefined && !isLeafDue(has, names, now()) && isSignedBy(has, authority)) continue
    const made = await signLeaf({ ...authority, key }, names, leafTimes(now(), new Date(authority.notAfter)))
    const row = {
      source: 'local',
      ...{ subject, names, certificate: made.certificate },
      ...{ notBefore: made.notBefore.toISOString(), notAfter: made.notAfter.toISOString() },
      nextRenewal: renewalOf(made, Math.random()).toISOString(),
    } as const
    await store.transaction(async (tx) => {
      await tx.certificates.put(row, made.key)
      await tx.events.append(certificateEvent())
    })
    changed = true
  }
  return changed
}

/** The one there is, unless it cannot speak for the base domain of now: then a new one, which people have to trust anew. */
async function authorityFor({ store, known, now }: LocalDeps): Promise<CertificateRow> {
  const domains = known.domains()
  const before = known.authority()
  if (before !== null && domains.every((domain) => isLocalName(domain, before.names))) return before
  const made = await makeAuthority({ domains, host: hostname() }, now())
  await store.transaction(async (tx) => {
    const row = {
      source: 'authority',
      subject: 'local',
      names: domains,
      certificate: made.certificate,
      notBefore: made.notBefore.toISOString(),
      notAfter: made.notAfter.toISOString(),
      nextRenewal: null,
    } as const
    const { id } = await tx.certificates.put(row, made.key)
    await tx.audit.append(
      byTheService({
        action: 'certificate.authority',
        target: id,
        changes: { after: { domains, until: row.notAfter } },
      }),
    )
    await tx.events.append(certificateEvent())
  })
  await known.load()
  const row = known.authority()
  if (row === null) throw new Error('The local authority that was made is not there.')
  return row
}

function isSignedBy(leaf: CertificateRow, authority: CertificateRow): boolean {
  return leaf.createdAt >= authority.createdAt
}

async function remove(rows: readonly CertificateRow[], { store }: LocalDeps): Promise<boolean> {
  if (rows.length === 0) return false
  await store.transaction(async (tx) => {
    for (const { id } of rows) await tx.certificates.delete(id)
    await tx.events.append(certificateEvent())
  })
  return true
}

export function certificateEvent() {
  return { type: 'certificate.changed', project: null, data: {} } as const
}
