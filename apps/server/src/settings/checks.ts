import { stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { isAbsolute, resolve, sep } from 'node:path'
import type { InstanceSettingKey } from '@stackquay/contract'
import { ownNameBlocker, readHostName, readLogExportUrl } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { InstanceIsolation } from '../isolation/isolation.ts'
import { brokenPromise, chooseIsolation } from '../isolation/level.ts'
import { type Address, addressText } from '../ports/held-addresses.ts'
import { isRefusedAddress } from '../webhooks/receivers.ts'

export interface ChecksDeps {
  readonly store: Pick<Store, 'network' | 'projects' | 'ports' | 'backupTargets'>
  readonly isolation: Pick<InstanceIsolation, 'offers'>
  /** What the service runs with. */
  readonly running: Config
}

type Check = (next: Config, deps: ChecksDeps) => Promise<readonly string[]> | readonly string[]

/** What the schema of a variable cannot know: the machine, the projects, the other settings. Each answers what is wrong, in sentences. */
export const settingChecks: Readonly<Partial<Record<InstanceSettingKey, Check>>> = {
  baseDomain: baseDomainFaults,
  trustedProxies: ({ trustedProxies }) => trustedProxies.flatMap(tooWide),
  portRange: portRangeFaults,
  backupTargets: async ({ newBackups: { targets } }, { store }) => {
    const there = (await store.backupTargets.all()).map(({ id }) => id)
    return targets.filter((id) => !there.includes(id)).map((id) => `There is no backup target "${id}".`)
  },
  logExportUrl: ({ logExport: { url } }) => {
    const read = url === null ? null : readLogExportUrl(url)
    return read?.ok === true && isRefusedAddress(read.target.host)
      ? [`Logs are not sent to ${read.target.host}: it belongs to the machine itself, not to a receiver.`]
      : []
  },
  logExportProjects: async ({ logExport: { projects } }, { store }) => {
    const there = (await store.projects.all()).map(({ slug }) => slug)
    return projects.filter((slug) => !there.includes(slug)).map((slug) => `There is no project "${slug}".`)
  },
  allowedRoots: rootsFaults,
  isolation: ({ isolation }, { isolation: { offers } }) => {
    const why = brokenPromise(chooseIsolation(isolation, offers), offers)
    const sandbox = isolation === 'sandbox' ? offers.sandbox : null
    return why === null ? (sandbox === null ? [] : [`Level "sandbox" does not work here: ${sandbox}`]) : [why]
  },
  listen: ({ listen, proxy, proxyHttps, ssh }, { running }) =>
    addressFaults(listen, running.listen, [proxy, proxyHttps, ssh]),
  proxyHttp: ({ listen, proxy, proxyHttps, ssh }, { running }) =>
    addressFaults(proxy, running.proxy, [listen, proxyHttps, ssh]),
  proxyHttps: ({ listen, proxy, proxyHttps, ssh }, { running }) =>
    addressFaults(proxyHttps, running.proxyHttps, [listen, proxy, ssh]),
  ssh: ({ listen, proxy, proxyHttps, ssh }, { running }) =>
    addressFaults(ssh, running.ssh, [listen, proxy, proxyHttps]),
}

async function baseDomainFaults({ baseDomain }: Config, { store }: ChecksDeps): Promise<readonly string[]> {
  const read = readHostName(baseDomain)
  if (!read.ok) return [read.detail]
  const [domains, projects] = await Promise.all([store.network.allDomains(), store.projects.all()])
  return domains.flatMap(({ host, project }) => {
    const slug = projects.find(({ id }) => id === project)?.slug ?? ''
    return ownNameBlocker(host, slug, { baseDomain }) === null
      ? []
      : [`"${host}" is a domain of project "${slug}" and would lie below it. Remove that domain first.`]
  })
}

/** Whoever comes from such a block could claim any address, and be let in by rules that name one. */
function tooWide(range: string): readonly string[] {
  const [address = '', prefix] = range.split('/')
  const least = address.includes(':') ? 7 : 8
  return prefix === undefined || Number(prefix) >= least
    ? []
    : [`"${range}" holds most of the internet, and everybody in it could claim to be anybody. Name your proxies.`]
}

async function portRangeFaults({ portRange: { from, to } }: Config, { store }: ChecksDeps): Promise<readonly string[]> {
  const ports = (await store.ports.all()).map(({ hostPort }) => hostPort)
  const outside = [...new Set(ports)].filter((port) => port < from || port > to).sort((a, b) => a - b)
  if (outside.length === 0) return []
  const shown = outside.slice(0, 5).join(', ') + (outside.length > 5 ? ' and more' : '')
  return [`Projects have ports outside of it: ${shown}. Let it hold them too.`]
}

async function rootsFaults({ allowedRoots, home, projectsDir }: Config): Promise<readonly string[]> {
  const faults = await Promise.all(
    allowedRoots.map(async (root) => {
      if (root === projectsDir) return []
      if (!isAbsolute(root) || root === sep) return [`"${root}" is no folder that may be a root.`]
      if (isInside(root, home) && !isInside(root, projectsDir))
        return [`"${root}" lies in the home of the service, whose files are no project’s.`]
      const found = await stat(root).catch(() => null)
      return found?.isDirectory() === true ? [] : [`There is no folder "${root}" on the machine of the service.`]
    }),
  )
  return faults.flat()
}

const isInside = (path: string, folder: string) => resolve(path) === folder || resolve(path).startsWith(folder + sep)

async function addressFaults(
  next: Address | null,
  before: Address | null,
  others: readonly (Address | null)[],
): Promise<readonly string[]> {
  if (next === null) return []
  if (next.port === 0) return ['Port 0 is no port that others could find.']
  if (others.some((other) => other !== null && meet(next, other)))
    return [`${addressText(next)} is another address of the service already.`]
  // The port is free again when the service has ended.
  if (next.port === before?.port) return []
  const code = await tryBinding(next)
  if (code === null) return []
  const why = reasons[code] ?? `cannot be used (${code})`
  return [`${addressText(next)} ${why}.`]
}

const everywhere: ReadonlySet<string> = new Set(['0.0.0.0', '::'])
const meet = (a: Address, b: Address) =>
  a.port === b.port && (a.host === b.host || everywhere.has(a.host) || everywhere.has(b.host))

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is used by another program',
  EADDRNOTAVAIL: 'is no address of this machine',
  EACCES: 'takes rights that the service does not have',
  ENOTFOUND: 'is a name that nobody knows',
}

function tryBinding({ host, port }: Address): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const server = createServer()
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'))
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  return promise
}
