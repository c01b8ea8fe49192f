import { Resolver } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { AcmeError } from '../failure.ts'
import { type TxtRecord, zonesAbove } from './provider.ts'

/** How the DNS is asked. */
export interface DnsView {
  /** `address` or `address:port` of resolvers; empty for those of the system. */
  readonly servers?: readonly string[]
  /** The port of authoritative servers. */
  readonly authoritativePort?: number
}

const attempt = { timeout: 3000, tries: 2 }

function resolverOf({ servers = [] }: DnsView): Resolver {
  const resolver = new Resolver(attempt)
  if (servers.length > 0) resolver.setServers([...servers])
  return resolver
}

/** What a resolver says when the name, or the record of this type, is not there. All else is trouble on the way. */
function isAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOTFOUND' || code === 'ENODATA'
}

async function orNone<Value>(asked: Promise<readonly Value[]>): Promise<readonly Value[]> {
  return asked.catch((error: unknown) => {
    if (isAbsent(error)) return []
    throw error
  })
}

/** `none` only when the DNS says so; a resolver in trouble is no reason to refuse. */
export async function addressesOf(name: string, view: DnsView): Promise<readonly string[] | 'none'> {
  const resolver = resolverOf(view)
  try {
    const found = await Promise.all([orNone(resolver.resolve4(name)), orNone(resolver.resolve6(name))])
    const all = found.flat()
    return all.length === 0 ? 'none' : all
  } catch {
    return []
  }
}

const mostDelegations = 8

/** The end of the chain of CNAMEs from here; the name itself without one. */
export async function delegatedName(name: string, view: DnsView): Promise<string> {
  const resolver = resolverOf(view)
  let at = name
  for (let step = 0; step < mostDelegations; step += 1) {
    const [next] = await orNone(resolver.resolveCname(at)).catch((error: unknown) => {
      throw new AcmeError('dns_not_visible', `The DNS does not answer for ${at}: ${(error as Error).message}`)
    })
    if (next === undefined) return at
    at = next.toLowerCase().replace(/\.$/, '')
  }
  throw new AcmeError('dns_not_visible', `${name} leads through more than ${mostDelegations} CNAME records.`)
}

/** Addresses of all servers that answer for the zone of a name. */
async function authoritativeServers(name: string, view: DnsView): Promise<readonly string[]> {
  const resolver = resolverOf(view)
  for (const zone of zonesAbove(name)) {
    const hosts = await orNone(resolver.resolveNs(zone)).catch(() => [])
    if (hosts.length === 0) continue
    const addresses = await Promise.all(hosts.slice(0, 16).map((host) => addressesOf(host, view)))
    const port = view.authoritativePort ?? 53
    return addresses
      .flatMap((found) => (found === 'none' ? [] : found))
      .map((address) => (address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`))
  }
  return []
}

/** Until each authoritative server answers the record: the certificate authority may ask any of them. */
export async function waitUntilVisible(
  record: TxtRecord,
  view: DnsView,
  { visibleWithinMs, pauseMs }: { readonly visibleWithinMs: number; readonly pauseMs: number },
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + visibleWithinMs
  let waiting = await authoritativeServers(record.name, view)
  // IPv6 that this machine has not is no reason to wait; one server that answers is needed all the same.
  let seen = 0
  for (;;) {
    const states = await Promise.all(waiting.map((server) => stateAt(server, record)))
    seen += states.filter((state) => state === 'visible').length
    const missing = waiting.filter((_, index) => states[index] === 'missing')
    const silent = waiting.filter((_, index) => states[index] === 'silent')
    if (seen > 0 && missing.length === 0) return
    // Networks that let nobody but their resolver ask the outside: then it is believed.
    const isBlind = seen === 0 && missing.length === 0
    if (isBlind && (await stateOf(resolverOf(view), record)) === 'visible') return
    if (performance.now() > deadline) throw notVisible(record, [...missing, ...silent], visibleWithinMs)
    waiting = waiting.length === 0 ? await authoritativeServers(record.name, view) : [...missing, ...silent]
    await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

function notVisible({ name }: TxtRecord, servers: readonly string[], waitedMs: number): AcmeError {
  const seconds = Math.round(waitedMs / 1000)
  const who = servers.length === 0 ? 'No authoritative server is known' : `${servers.join(', ')} did not answer it`
  return new AcmeError(
    'dns_not_visible',
    `The TXT record ${name} was written, but is not visible after ${seconds} s. ${who}. The certificate authority was not asked. Check that the provider hosts this zone.`,
    { name },
  )
}

type Seen = 'visible' | 'missing' | 'silent'

async function stateAt(server: string, record: TxtRecord): Promise<Seen> {
  const resolver = new Resolver({ timeout: 2000, tries: 1 })
  try {
    resolver.setServers([server])
  } catch {
    return 'silent'
  }
  return stateOf(resolver, record)
}

async function stateOf(resolver: Resolver, { name, value }: TxtRecord): Promise<Seen> {
  try {
    const found = await orNone(resolver.resolveTxt(name))
    return found.some((parts) => parts.join('') === value) ? 'visible' : 'missing'
  } catch {
    return 'silent'
  }
}
