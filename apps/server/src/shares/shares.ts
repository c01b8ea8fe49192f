import type { Engine } from '@stackquay/engine-api'
import { newId, type ProjectRow, type ShareRow, type Store } from '@stackquay/store'
import { hashPassword } from '../access/passwords.ts'
import type { Config } from '../config.ts'
import type { RequestContext } from '../http/handler.ts'
import type { Network } from '../network/network.ts'
import type { ProviderEnvironment, ShareProvider } from '../network/providers/provider.ts'
import { listenerPortOf } from '../network/share-listener.ts'
import type { Model } from '../projects/model.ts'
import { freePorts } from '../projects/prepare.ts'
import type { Resolver } from '../projects/resolver.ts'
import { createOpenShares, renewNetwork } from './open-shares.ts'
import { createShareClock } from './share-clock.ts'
import { type NewShare, randomName, writeEnd, writeExpiry, writeShare } from './share-records.ts'

/** Shares of all projects: one a project at a time, and each ends by itself. */
export interface Shares {
  create(project: ProjectRow, wish: ShareWish, context: RequestContext): Promise<ShareRow>
  /** Throws `not_found` when there is none. Ends when the proxy no longer lets anybody in. */
  end(project: ProjectRow, context: RequestContext): Promise<void>
  /** At the start of the service: removes what ended meanwhile, and goes on with the rest. */
  resume(): Promise<void>
  /** Shares go on. */
  close(): Promise<void>
}

export interface ShareWish {
  readonly minutes: number
  readonly password: string | undefined
  readonly provider: ShareProvider
  readonly workload: string | null
}

export interface SharesDeps {
  readonly store: Store
  readonly engine: Engine
  readonly model: Model
  readonly resolver: Resolver
  readonly network: Network
  readonly config: Config
  readonly environment: ProviderEnvironment
  /** Ends when the proxy has taken the change, or a while has passed. */
  published(project: string): Promise<void>
  readonly now: () => Date
  onError(error: unknown, what: string): void
}

export function createShares(deps: SharesDeps): Shares {
  const { store, engine, model, network, config, published, now, onError } = deps
  const renew = (project: string) => renewNetwork(project, deps)
  const open = createOpenShares({ store, engine, environment: deps.environment, renew, now, onError })
  const life = new AbortController()

  const isOver = ({ expiresAt }: ShareRow) => Date.parse(expiresAt) <= now().getTime()
  /** The proxy ends it by its own clock; here it is only cleared away. */
  const removeOver = async () => {
    for (const share of open.all()) {
      if (life.signal.aborted) return
      if (!isOver(share)) continue
      await writeExpiry(share, store)
      open.remove(share)
      await renew(share.project)
    }
  }
  const clock = createShareClock({
    next: () => Math.min(...open.all().map(({ expiresAt }) => Date.parse(expiresAt))),
    removeOver,
    now,
    onError,
    signal: life.signal,
  })

  const stopListening = store.onCommit((events) => {
    for (const { type, project } of events) {
      if (type !== 'project.deleted' || project === null) continue
      network.forget(project)
      open.removeOf(project)
    }
  })

  return {
    create: async (project, wish, context) => {
      // Slow, so outside the transaction.
      const passwordHash = wish.password === undefined ? null : await hashPassword(wish.password)
      const isDirect = wish.provider.tunnel === null
      const ports = isDirect ? null : await freePorts(store, engine, config, candidates, context.signal)
      const wanted = newShare(project, wish, passwordHash, deps)
      const { share, port } = await writeShare(wanted, ports, isOver, context, store)
      open.put(share)
      clock.schedule()
      await renew(project.id)
      await published(project.id)
      // Only now: what comes through it finds its listener open.
      if (port !== null && open.has(share.id)) open.connect(share, port)
      return share
    },

    end: async (project, context) => {
      open.remove(await writeEnd(project, context, store))
      await renew(project.id)
      await published(project.id)
    },

    resume: async () => {
      for (const share of await store.network.allShares()) open.put(share)
      // Not being able to is no reason to leave projects down: it is tried again.
      await removeOver().catch((error: unknown) => onError(error, 'removing shares that have ended'))
      for (const share of open.all()) {
        if (isOver(share)) continue
        const port = listenerPortOf(share, model.find(share.project)?.leases ?? [])
        if (port !== null) open.connect(share, port)
      }
      clock.schedule()
      // In the background: projects must not wait for what was left behind.
      open.sweep().catch((error: unknown) => {
        if (!life.signal.aborted) onError(error, 'removing what shares left')
      })
    },

    close: async () => {
      life.abort()
      stopListening()
      await clock.close()
      await open.close()
    },
  }
}

/** Ports of which one is leased. */
const candidates = 8

/** As it is before its program said anything. */
function newShare(
  project: ProjectRow,
  { minutes, provider, workload }: ShareWish,
  passwordHash: string | null,
  { resolver, now }: Pick<SharesDeps, 'resolver' | 'now'>,
): NewShare {
  const isDirect = provider.tunnel === null
  const host = `${randomName()}.${resolver.shareDomain}`
  return {
    id: newId('shr'),
    project: project.id,
    provider: provider.name,
    workload,
    host,
    url: isDirect ? resolver.urlOf(host) : null,
    state: isDirect ? 'open' : 'connecting',
    passwordHash,
    expiresAt: new Date(now().getTime() + minutes * 60_000).toISOString(),
  }
}
