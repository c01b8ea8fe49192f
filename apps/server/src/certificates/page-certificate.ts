import { BlockList, isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { isLocalName, isValidAt, localAddressBlocks } from '@stackquay/domain'
import type { CertificateRow, Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { PageCertificates } from '../http/tls/secure-page.ts'
import type { KnownCertificates } from './known.ts'

/** What the page of Stackquay shows: a certificate of the name that is asked for, else of the public address, else of the local authority. */
export function createPageCertificates({
  store,
  known,
  config,
  now,
}: {
  readonly store: Pick<Store, 'certificates'>
  readonly known: Pick<KnownCertificates, 'of' | 'page' | 'serving'>
  readonly config: Pick<Config, 'publicUrl' | 'tls'>
  readonly now: () => Date
}): PageCertificates {
  const valid = (row: CertificateRow | null) => (row !== null && isValidAt(row, now()) ? row : null)
  const choose = (asked: string | null): CertificateRow | null => {
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
    any: () => known.page() !== null || known.serving().length > 0,
    shownFor: (name) => {
      const asked = name?.toLowerCase() ?? null
      const row = choose(asked)
      if (row === null) return null
      // By an address the same name is not shown; that of the local authority is trusted by some alone.
      const isOwn = asked !== null && row.source !== 'local' && known.of(asked)?.id === row.id
      return {
        certificate: row.certificate,
        key: async () => (await store.certificates.key(row.id)).expose(),
        redirect: isOwn && config.tls.redirect,
        hstsSeconds: isOwn && config.tls.hstsSeconds > 0 ? config.tls.hstsSeconds : null,
      }
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
