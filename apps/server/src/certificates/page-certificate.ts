import { BlockList, isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { isLocalName, isValidAt, localAddressBlocks } from '@stackquay/domain'
import type { CertificateRow, Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { KnownCertificates } from './known.ts'

/** What a TLS listener for the page of Stackquay shows. */
export interface PageCertificate {
  /** For the name that a client asks for; null for one that asks for none, as with an address. Null when there is nothing to show. */
  contextFor(servername: string | null): Promise<{ readonly certificate: string; readonly key: string } | null>
  /** Others may be shown from now on. Answers what ends it. */
  onChange(listener: () => void): () => void
}

export function createPageCertificate({
  store,
  known,
  config,
  now,
}: {
  readonly store: Pick<Store, 'certificates'>
  readonly known: Pick<KnownCertificates, 'of' | 'page'>
  readonly config: Pick<Config, 'publicUrl'>
  readonly now: () => Date
}): PageCertificate & { changed(): void } {
  const listeners = new Set<() => void>()
  const valid = (row: CertificateRow | null) => (row !== null && isValidAt(row, now()) ? row : null)
  const choose = (servername: string | null): CertificateRow | null => {
    const asked = servername?.toLowerCase() ?? null
    const page = valid(known.page())
    if (asked !== null) {
      const found = valid(known.of(asked))
      if (found !== null && found.source !== 'local') return found
      if (page?.names.includes(asked)) return page
      if (found !== null) return found
    }
    const ofPublic = valid(known.of(new URL(config.publicUrl).hostname))
    return asked === null ? (page ?? ofPublic) : (ofPublic ?? page)
  }
  return {
    contextFor: async (servername) => {
      const row = choose(servername)
      if (row === null) return null
      return { certificate: row.certificate, key: (await store.certificates.key(row.id)).expose() }
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    changed: () => {
      for (const listener of listeners) listener()
    },
  }
}

/** Names and addresses at which people reach the page, of those that the local authority may speak for. */
export function pageNames(
  { listen, publicUrl }: Pick<Config, 'listen' | 'publicUrl'>,
  domains: readonly string[],
): readonly string[] {
  const named = [
    'localhost',
    hostname().toLowerCase(),
    new URL(publicUrl).hostname.replace(/^\[|\]$/g, ''),
    listen.host,
  ]
  const everywhere = listen.host === '0.0.0.0' || listen.host === '::'
  const ofMachine = everywhere
    ? Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
    : []
  const all = [...named, '127.0.0.1', '::1', ...ofMachine]
  return [...new Set(all)].filter((name) => (isIP(name) === 0 ? isName(name, domains) : isPrivate(name))).sort()
}

function isName(name: string, domains: readonly string[]): boolean {
  return /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name) && isLocalName(name, domains)
}

const privateAddresses = new BlockList()
for (const block of localAddressBlocks) {
  const [address = '', prefix] = block.split('/')
  privateAddresses.addSubnet(address, Number(prefix), address.includes(':') ? 'ipv6' : 'ipv4')
}

function isPrivate(address: string): boolean {
  return privateAddresses.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
}
