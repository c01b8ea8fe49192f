import { servedNames } from '@stackquay/domain'
import type { ProxyControl, ProxyStatus } from '@stackquay/proxy/control'
import type { Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { ServingRow } from './known.ts'

/** What the proxy is told of TLS, whole each time. It keeps it in memory alone. */
export interface ProxyCertificates {
  readonly generation: number
  readonly certificates: readonly {
    readonly id: string
    readonly names: readonly string[]
    readonly certificate: string
    readonly key: string
    readonly redirect: boolean
    readonly hstsSeconds: number | null
  }[]
  readonly http01: readonly { readonly name: string; readonly token: string; readonly answer: string }[]
  readonly tlsAlpn01: readonly { readonly name: string; readonly certificate: string; readonly key: string }[]
}
export type Challenges = Pick<ProxyCertificates, 'http01' | 'tlsAlpn01'>

/** A proxy that takes certificates. */
type TlsProxy = Pick<ProxyControl, 'status'> & {
  setCertificates?(certificates: ProxyCertificates): Promise<unknown>
}

export interface CertificateTeller {
  /** Tells this proxy, or the one of before, unless it says that it has them; throws when it does not take them. */
  tell(proxy?: ProxyControl, status?: ProxyStatus): Promise<void>
  /** There are others now. */
  outdate(): void
  /** Answers to who asks whether names are ours, in place of those before. */
  challenge(challenges: Challenges): void
  /** Names without a key that can be read, by certificate. */
  unreadable(): ReadonlySet<string>
}

export function createCertificateTeller({
  store,
  serving,
  config,
  now,
}: {
  readonly store: Pick<Store, 'certificates'>
  serving(): readonly ServingRow[]
  readonly config: Pick<Config, 'tls'>
  readonly now: () => Date
}): CertificateTeller {
  let generation = Date.now()
  let challenges: Challenges = { http01: [], tlsAlpn01: [] }
  let unreadable: ReadonlySet<string> = new Set()
  /** Whether any proxy was told anything, or had something from a service before. */
  let isTold = false
  let proxy: ProxyControl | null = null
  let last: Promise<void> = Promise.resolve()

  const whole = async (): Promise<ProxyCertificates> => {
    const lost = new Set<string>()
    const entries = servedNames(serving(), now()).map(async ({ certificate: { id, source, certificate }, names }) => {
      const key = await store.certificates.key(id).catch(() => null)
      if (key === null) lost.add(id)
      const { redirect, hstsSeconds } = config.tls
      const hsts = source === 'local' || hstsSeconds === 0 ? null : hstsSeconds
      return key === null ? [] : [{ id, names, certificate, key: key.expose(), redirect, hstsSeconds: hsts }]
    })
    const certificates = (await Promise.all(entries)).flat()
    unreadable = lost
    return { generation, certificates, ...challenges }
  }
  const tell = async (known?: ProxyStatus) => {
    const to = proxy as (TlsProxy & ProxyControl) | null
    if (to === null) return
    const nothing = serving().length === 0 && challenges.http01.length === 0 && challenges.tlsAlpn01.length === 0
    const status = (known ?? (await to.status())) as
      | (ProxyStatus & { readonly certificatesGeneration?: number })
      | undefined
    const has = status?.certificatesGeneration
    if (has === generation || (nothing && !isTold && (has ?? 0) === 0)) return
    if (to.setCertificates === undefined) throw new Error('This proxy does not speak TLS.')
    await to.setCertificates(await whole())
    isTold = true
  }
  return {
    tell: (to, status) => {
      if (to !== undefined) proxy = to
      const mine = last.then(() => tell(status))
      last = mine.catch(() => undefined)
      return mine
    },
    outdate: () => {
      generation = Math.max(generation + 1, Date.now())
    },
    challenge: (next) => {
      challenges = next
      generation = Math.max(generation + 1, Date.now())
    },
    unreadable: () => unreadable,
  }
}
