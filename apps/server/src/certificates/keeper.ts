import { type CertificateTrouble, certificateTroubles, type NeededHost, servedNames } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { PageCertificates } from '../http/tls/secure-page.ts'
import type { ProxyKeeper } from '../proxy-keeper.ts'
import type { KnownCertificates } from './known.ts'
import { type LocalDeps, renewLocal } from './local-certificates.ts'
import { type NeededDeps, neededHosts } from './needed-hosts.ts'
import { createPageCertificates } from './page-certificate.ts'
import { type CertificateTeller, createCertificateTeller } from './to-proxy.ts'

/** Sees to it that hosts have certificates, that the proxy has them, and that addresses say https where they do. */
export interface CertificateKeeper {
  /** Every host at which the proxy answers. */
  needed(): readonly NeededHost[]
  /** What needs somebody. */
  troubles(): readonly CertificateTrouble[]
  /** Why local certificates were not made, or the proxy did not take any; null when neither. */
  fault(): string | null
  /** Certificates whose keys cannot be read. */
  readonly unreadable: CertificateTeller['unreadable']
  /** For who proves that names are ours. */
  readonly challenge: CertificateTeller['challenge']
  readonly page: PageCertificates
  /** After certificates, names or settings changed. Ends when everything stands on them, or could not. */
  renew(): Promise<void>
  close(): Promise<void>
}

export interface CertificateKeeperDeps extends NeededDeps, Omit<LocalDeps, 'known' | 'store'> {
  readonly store: Pick<Store, 'certificates' | 'transaction' | 'onCommit'>
  readonly known: KnownCertificates
  readonly config: Config
  readonly proxy: Pick<ProxyKeeper, 'setCertificates'> | null
  /** Projects are known from then on. */
  readonly ready: Promise<void>
  /** These projects have other addresses now. */
  readdressed(projects: readonly string[]): Promise<void>
  onError(error: unknown, what: string): void
}

const everyMs = 3600_000
/** What changes together is looked at together. */
const waitMs = 200
const againMs = 30_000
const relevant: ReadonlySet<string> = new Set(['project.created', 'project.changed', 'project.deleted'])

export function openCertificateKeeper(deps: CertificateKeeperDeps): CertificateKeeper {
  const { store, known, config, proxy, now, onError } = deps
  const teller = createCertificateTeller({ store, serving: known.serving, config, proxy, now })
  const page = createPageCertificates({ store, known, config, now })
  const hosts = () => neededHosts(deps)
  let fault: string | null = null
  let told = toldText(known, config, now())
  let secure: ReadonlyMap<string, boolean> | null = null
  let closed = false

  const readdress = async (needed: readonly NeededHost[]) => {
    const before = secure
    secure = new Map(needed.map(({ host }) => [host, known.isSecure(host)]))
    if (before === null) return
    const others = needed.filter(({ host }) => before.has(host) && before.get(host) !== secure?.get(host))
    const projects = [...new Set(others.flatMap(({ project }) => project ?? []))]
    if (projects.length > 0) await deps.readdressed(projects)
  }
  const once = async () => {
    await deps.ready
    if (closed) return
    await known.load()
    const needed = hosts()
    secure ??= new Map(needed.map(({ host }) => [host, known.isSecure(host)]))
    try {
      fault = null
      await renewLocal(needed, deps)
    } catch (error) {
      fault = `Local certificates were not made: ${messageOf(error)}`
      soon(againMs)
      onError(error, 'making local certificates')
    }
    await known.load()
    const next = toldText(known, config, now())
    const isOther = next !== told
    told = next
    if (isOther) {
      teller.outdate()
    }
    await teller.tell().catch((error: unknown) => {
      fault ??= `The proxy did not take the certificates: ${messageOf(error)}`
      soon(againMs)
      onError(error, 'giving the proxy its certificates')
    })
    await readdress(needed)
  }
  const { renew, settled } = oneAfterTheOther(() =>
    once().catch((error: unknown) => onError(error, 'looking after certificates')),
  )

  let waiting: NodeJS.Timeout | undefined
  const soon = (inMs = waitMs) => {
    waiting ??= setTimeout(() => {
      waiting = undefined
      void renew()
    }, inMs).unref()
  }
  const stopListening = store.onCommit((events) => {
    if (events.some(({ type }) => relevant.has(type))) soon()
  })
  const timer = setInterval(() => void renew(), everyMs).unref()
  void renew()
  return {
    needed: hosts,
    troubles: () => certificateTroubles(known.serving(), hosts(), now()),
    fault: () => fault,
    unreadable: teller.unreadable,
    challenge: teller.challenge,
    page,
    renew,
    close: async () => {
      closed = true
      stopListening()
      clearInterval(timer)
      clearTimeout(waiting)
      await settled()
    },
  }
}

/** All that the proxy and the page are told, but for keys: those go with their certificates. */
function toldText(known: KnownCertificates, { tls }: Pick<Config, 'tls'>, now: Date): string {
  const served = servedNames(known.serving(), now).map(({ certificate: { id }, names }) => [id, names])
  return JSON.stringify([served, tls.redirect, tls.hstsSeconds, known.page()?.id])
}

/** Whoever asks while one is on its way waits for the one after it, which stands on what they changed. */
function oneAfterTheOther(work: () => Promise<void>): { renew(): Promise<void>; settled(): Promise<void> } {
  let running: Promise<void> | null = null
  let next: Promise<void> | null = null
  const run = (): Promise<void> => {
    running = work().finally(() => {
      running = null
    })
    return running
  }
  return {
    renew: () => {
      if (running === null) return run()
      next ??= running.then(() => {
        next = null
        return running ?? run()
      })
      return next
    },
    settled: async () => {
      await running
    },
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
