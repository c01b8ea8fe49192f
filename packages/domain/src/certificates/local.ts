import { liesBelow, namesCover, takesWildcard } from './names.ts'

/*
 * The certificate authority of the instance itself. It can speak for names of this machine and of networks at home alone: whoever trusts
 * it, and somebody who steals its key, can be told nothing about the rest of the internet.
 */

const day = 24 * 3600_000
export const localCaDays = 3650
/** What browsers take of public authorities; private ones may give more to some of them, not to all. */
export const localLeafDays = 397

/** Top-level names that nobody on the internet has: RFC 2606, 6761, 6762, 8375 and what ICANN keeps for private use. */
const privateNames = ['localhost', 'test', 'internal', 'local', 'lan', 'home.arpa'] as const

/** Addresses of this machine and of private networks. */
export const localAddressBlocks = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  '100.64.0.0/10',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
] as const

/**
 * The domains that the authority of an instance may speak for. A base domain of one label is none of them: `dev` is also all that the
 * internet has below it.
 */
export function localDomains(baseDomain: string): readonly string[] {
  const isOwn = baseDomain.includes('.') && !isLocalName(baseDomain, privateNames)
  return isOwn ? [...privateNames, baseDomain] : privateNames
}

export function isLocalName(host: string, domains: readonly string[]): boolean {
  return domains.some((domain) => liesBelow(host, domain))
}

/** A host that has to be served, and whose it is: the id of a project, or null for the instance. */
export interface NeededHost {
  readonly host: string
  readonly project: string | null
}

export const instanceLeaf = 'instance'

/** The certificates that the local authority has to have made: names by what each is for, the instance or a project. */
export function localLeaves(
  needed: readonly NeededHost[],
  { baseDomain, domains }: { readonly baseDomain: string; readonly domains: readonly string[] },
): ReadonlyMap<string, readonly string[]> {
  const shares = `share.${baseDomain}`
  const wide = [...(takesWildcard(baseDomain) ? [baseDomain, `*.${baseDomain}`] : []), `*.${shares}`]
  const leaves = new Map<string, string[]>()
  if (isLocalName(baseDomain, domains)) leaves.set(instanceLeaf, wide)
  for (const { host, project } of needed) {
    if (!isLocalName(host, domains) || namesCover(leaves.get(instanceLeaf) ?? [], host)) continue
    const name = project ?? instanceLeaf
    const names = leaves.get(name) ?? []
    if (!names.includes(host)) leaves.set(name, [...names, host])
  }
  return new Map([...leaves].map(([name, names]) => [name, names.toSorted()]))
}

/** When the next one is made: after two thirds of its time, not all at once. `chance` lies in 0–1. */
export function renewalOf(
  { notBefore, notAfter }: { readonly notBefore: Date; readonly notAfter: Date },
  chance: number,
): Date {
  const lasts = notAfter.getTime() - notBefore.getTime()
  return new Date(notBefore.getTime() + lasts * (2 / 3) + lasts * 0.05 * chance)
}

/** From an hour ago, for clocks that differ, and never longer than what signs it. */
export function leafTimes(now: Date, authorityEnds: Date): { readonly notBefore: Date; readonly notAfter: Date } {
  const notBefore = new Date(Math.floor(now.getTime() / 1000) * 1000 - 3600_000)
  const end = Math.min(notBefore.getTime() + localLeafDays * day, authorityEnds.getTime())
  return { notBefore, notAfter: new Date(end) }
}

export interface LocalLeaf {
  readonly names: readonly string[]
  readonly notAfter: string
  readonly nextRenewal: string | null
}

/** Whether a certificate of the local authority has to be made anew. */
export function isLeafDue(leaf: LocalLeaf, names: readonly string[], now: Date): boolean {
  const renewal = leaf.nextRenewal ?? leaf.notAfter
  return now.getTime() >= Date.parse(renewal) || leaf.names.toSorted().join() !== names.toSorted().join()
}
