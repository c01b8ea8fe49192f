import { join } from 'node:path'
import type { ProxyCertificates } from '@stackquay/proxy/certificates'
import {
  ensureProxy,
  type ProxyControl,
  ProxyError,
  type TotalsAnswer,
  type UsesAnswer,
} from '@stackquay/proxy/control'
import type { Config } from './config.ts'
import { addressText } from './ports/held-addresses.ts'
import type { InheritedSockets } from './ports/inherited-sockets.ts'
import type { Publication } from './projects/routes.ts'
import { bringProxyProgram } from './proxy-program.ts'
import { ensureSystemUser } from './users/system-user.ts'

/** The user that the proxy of a service of root runs as. */
export const proxyUserName = 'stq-proxy'

/** Keeps the data plane running beside the control plane: found or started at boot, and again when it is gone. */
export interface ProxyKeeper {
  control(): ProxyControl | null
  /** Why the last try to start it failed; null when it did not. */
  fault(): string | null
  /** Why it does not listen for https, though it should. */
  httpsFault(): string | null
  put(publication: Publication): Promise<void>
  /**
   * Resolves when the proxy makes every new connection with these; another proxy gets them at its start. Rejects with
   * `certificates_invalid` when it cannot use them, and goes on with those before.
   */
  setCertificates(certificates: ProxyCertificates): Promise<void>
  /** What the proxy has under way at an address; undefined when it does not say. */
  flights(host: string, port: number): Promise<{ readonly requests: number; readonly tunnels: number } | undefined>
  /** How projects were used through the proxy since it began; undefined when it does not say. */
  uses(): Promise<UsesAnswer['projects'] | undefined>
  /** What it counted of projects since it began; undefined when it does not say. */
  totals(): Promise<TotalsAnswer['projects'] | undefined>
  close(): void
}

/** Null where the settings want no proxy. */
export function openProxyKeeper({
  config: { home, proxy, proxyHttps },
  sockets,
  onError,
}: {
  readonly config: Pick<Config, 'home' | 'proxy' | 'proxyHttps'>
  readonly sockets: InheritedSockets
  onError(error: unknown, what: string): void
}): ProxyKeeper | null {
  if (proxy === null) return null
  const listenHttps = proxyHttps === null ? 'off' : addressText(proxyHttps)
  return createProxyKeeper({ home, listen: addressText(proxy), listenHttps, sockets, onError })
}

export interface ProxyKeeperOptions {
  /** The service's; the proxy has a folder in it. */
  readonly home: string
  readonly listen: string
  /** Of https; by default `off`. */
  readonly listenHttps?: string
  /** Listening sockets from systemd. */
  readonly sockets?: InheritedSockets
  onError(error: unknown, what: string): void
  /** Finds the proxy, or starts it. */
  readonly open?: () => Promise<ProxyControl>
  readonly lookEveryMs?: number
}

export function createProxyKeeper(options: ProxyKeeperOptions): ProxyKeeper {
  const { lookEveryMs = 3_000 } = options
  let control: ProxyControl | null = null
  let fault: string | null = null
  const teller = createTeller()
  const certificates = createCertificateTeller()
  let starting: Promise<ProxyControl> | null = null
  const starter = createStarter(options)

  const ensure = () => {
    starting ??= (options.open ?? starter.findOrStart)()
      .then(async (found) => {
        control = found
        fault = null
        // One that was started just now serves the routes that its predecessor kept on disk; ours are newer.
        teller.forget()
        // It knows no certificates, and lets connections by https wait until it does.
        certificates.forget()
        await Promise.all([teller.tell(found), certificates.tell(found)])
        return found
      })
      .catch((error: unknown) => {
        fault = error instanceof Error ? error.message : String(error)
        throw error
      })
      .finally(() => {
        starting = null
      })
    return starting
  }

  const look = async () => {
    const status = await control?.status().catch(() => undefined)
    if (control === null || status === undefined) await ensure()
    // A busy machine kept it from being told: nothing else may change for long, and old addresses would answer for ever.
    else await Promise.all([teller.tell(control), certificates.tell(control)])
  }
  ensure().catch((error: unknown) => options.onError(error, 'starting the proxy'))
  const timer = setInterval(
    () => void look().catch((error: unknown) => options.onError(error, 'starting the proxy')),
    lookEveryMs,
  )
  timer.unref()

  return {
    control: () => control,
    fault: () => fault,
    httpsFault: starter.httpsFault,
    put: async (next) => {
      teller.news(next)
      const found = control ?? (await ensure())
      try {
        await teller.tell(found)
      } catch {
        await ensure()
      }
    },
    setCertificates: async (next) => {
      certificates.news(next)
      await certificates.tell(control ?? (await ensure()))
    },
    flights: async (host, port) => control?.flights(host, port).catch(() => undefined),
    uses: async () => (await control?.uses().catch(() => undefined))?.projects,
    totals: async () => (await control?.totals().catch(() => undefined))?.projects,
    close: () => clearInterval(timer),
  }
}

/** Finds the proxy, or starts it. */
function createStarter(options: ProxyKeeperOptions) {
  let httpsFault: string | null = null
  const findOrStart = async (): Promise<ProxyControl> => {
    const { home, listen, listenHttps, sockets } = options
    // Asked each time: without its user the proxy does not run, and never as root instead.
    const as =
      process.platform === 'linux' && process.getuid?.() === 0
        ? { ...(await ensureSystemUser(proxyUserName)), program: bringProxyProgram(home) }
        : undefined
    const given = { socket: sockets?.proxy, httpsSocket: sockets?.proxyHttps }
    const asked = { home: join(home, 'proxy'), listen, ...given, as }
    try {
      const found = await ensureProxy({ ...asked, listenHttps })
      httpsFault = null
      return found
    } catch (error) {
      // An address of https that somebody else has must not take http away from all projects.
      if (!(error instanceof Error) || !error.message.includes('STACKQUAY_PROXY_HTTPS')) throw error
      httpsFault = error.message
      options.onError(error, 'listening for https')
      return ensureProxy({ ...asked, httpsSocket: undefined, listenHttps: 'off' })
    }
  }
  return { findOrStart, httpsFault: () => httpsFault }
}

/** Remembers which certificates the proxy has. Keys are in memory alone. */
function createCertificateTeller() {
  let latest: ProxyCertificates | null = null
  let given: ProxyCertificates | null = null
  /** The last that a proxy could use. */
  let usable: ProxyCertificates | null = null
  let telling: Promise<void> = Promise.resolve()
  return {
    news(certificates: ProxyCertificates) {
      latest = certificates
    },
    forget() {
      given = null
    },
    tell(to: ProxyControl): Promise<void> {
      const mine = telling.then(async () => {
        const next = latest
        if (next === null || next === given) return
        try {
          await to.setCertificates(next)
        } catch (error) {
          if (error instanceof ProxyError && error.code === 'certificates_invalid' && latest === next) latest = usable
          throw error
        }
        given = next
        usable = next
      })
      telling = mine.catch(() => undefined)
      return mine
    },
  }
}

/** Remembers what the proxy has, so that it is told only what changed. */
function createTeller() {
  let latest: Publication | null = null
  /** Generation of the routes that the proxy said it has; null when it is not known. */
  let given: number | null = null
  /** Counts the proxies: what one took, the next does not have. */
  let proxy = 0
  let telling: Promise<void> = Promise.resolve()
  const tellLatest = async (to: ProxyControl) => {
    if (latest === null || given === latest.changes.generation) return
    const { changes, whole } = latest
    const before = given
    const asked = proxy
    // Whether it took them is not known until it answers.
    given = null
    let taken = changes.generation
    if (before !== changes.since || !(await tookChanges(to, changes))) {
      const table = whole()
      await to.putRoutes(table)
      taken = table.generation
    }
    if (asked === proxy) given = taken
  }
  return {
    news: (publication: Publication) => {
      latest = publication
    },
    /** It may be another proxy from now on, with other routes. */
    forget: () => {
      given = null
      proxy += 1
    },
    /** Nothing when it has all there is. One after the other, so that no older routes come after newer ones. */
    tell: (to: ProxyControl): Promise<void> => {
      const mine = telling.then(() => tellLatest(to))
      telling = mine.catch(() => undefined)
      return mine
    },
  }
}

/** False for a proxy that has other routes than these changes stand on: one that was started meanwhile. */
async function tookChanges(to: ProxyControl, changes: Publication['changes']): Promise<boolean> {
  try {
    await to.changeRoutes(changes)
    return true
  } catch (error) {
    if (error instanceof ProxyError && error.code === 'routes_stale') return false
    throw error
  }
}
