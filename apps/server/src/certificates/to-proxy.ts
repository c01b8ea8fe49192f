import { servedNames } from '@stackquay/domain'
import type { ProxyCertificates } from '@stackquay/proxy/certificates'
import type { Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { ProxyKeeper } from '../proxy-keeper.ts'
import type { ServingRow } from './known.ts'

export type Challenges = Pick<ProxyCertificates, 'http01' | 'tlsAlpn01'>

export interface CertificateTeller {
  /** Tells the proxy all there is, unless it has it; throws when it does not take it. */
  tell(): Promise<void>
  /** There are others now. */
  outdate(): void
  /** Answers to who asks whether names are ours, in place of those before. */
  challenge(challenges: Challenges): Promise<void>
  /** Certificates whose keys cannot be read. */
  unreadable(): ReadonlySet<string>
}

export function createCertificateTeller({
  store,
  serving,
  config,
  proxy,
  now,
}: {
  readonly store: Pick<Store, 'certificates'>
  serving(): readonly ServingRow[]
  readonly config: Pick<Config, 'tls'>
  readonly proxy: Pick<ProxyKeeper, 'setCertificates'> | null
  readonly now: () => Date
}): CertificateTeller {
  let generation = Date.now()
  let given: number | null = null
  let challenges: Challenges = { http01: [], tlsAlpn01: [] }
  let unreadable: ReadonlySet<string> = new Set()
  let last: Promise<void> = Promise.resolve()

  const whole = async (): Promise<ProxyCertificates> => {
    const made = generation
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
    return { generation: made, certificates, ...challenges }
  }
  const outdate = () => {
    generation = Math.max(generation + 1, Date.now())
  }
  // One after the other, so that no older ones come after newer ones.
  const tell = () => {
    const mine = last.then(async () => {
      if (given === generation) return
      const next = await whole()
      await proxy?.setCertificates(next)
      given = next.generation
    })
    last = mine.catch(() => undefined)
    return mine
  }
  return {
    tell,
    outdate,
    challenge: (next) => {
      challenges = next
      outdate()
      return tell()
    },
    unreadable: () => unreadable,
  }
}
