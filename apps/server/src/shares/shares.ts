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
import { createShareClock } from './share-clock.ts'
import { randomName, writeEnd, writeExpiry, writeLearnt, writeShare } from './share-records.ts'
import { createShareTunnels } from './share-tunnels.ts'

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
  const { store, engine, model, resolver, network, config, published, now, onError } = deps
  const open = new Map<string, ShareRow>()
  const life = new AbortController()

  const isOver = ({ expiresAt }: ShareRow) => Date.parse(expiresAt) <= now().getTime()

  /** What the proxy is told is made anew. A project that was deleted meanwhile has nothing to tell. */
  const renew = async (project: string) => {
    if ((await store.projects.find(project)) === null) return
    await network.renew(project)
    await model.renew(project).catch(async (error: unknown) => {
      if ((await store.projects.find(project)) !== null) throw error
    })
  }

  /** Learns something of a share by its program; one that was ended meanwhile stays so. */
  const learn = async (id: string, change: Partial<Pick<ShareRow, 'url' | 'state' | 'detail'>>) => {
    const known = open.get(id)
    if (known === undefined) return
    await writeLearnt(known, change, store)
    if (open.has(id)) open.set(id, { ...known, ...change })
    await renew(known.project)
  }
  const tunnels = createShareTunnels({
    commands: engine.commands,
    environment: deps.environment,
    now,
    onError,
    opened: (id, url) => learn(id, { url, state: 'open', detail: null }),
    failed: (id, detail) => learn(id, { state: 'failed', detail }),
  })

  /** The proxy ends it by its own clock; here it is only cleared away. */
  const expire = async (share: ShareRow) => {
    await writeExpiry(share, store)
    open.delete(share.id)
    void release(share)
    await renew(share.project)
  }
  const release = async (share: ShareRow) => {
    if (share.provider !== directName) await tunnels.drop(share)
  }
  const closeOf = (project: string) => {
    for (const share of [...open.values()]) {
      if (share.project !== project) continue
      open.delete(share.id)
      void release(share)
    }
  }
  const removeOver = async () => {
    for (const share of [...open.values()]) {
      if (life.signal.aborted) return
      if (isOver(share)) await expire(share)
    }
  }
  const clock = createShareClock({
    next: () => Math.min(...[...open.values()].map(({ expiresAt }) => Date.parse(expiresAt))),
    removeOver,
    now,
    onError,
    signal: life.signal,
  })

  const stopListening = store.onCommit((events) => {
    for (const { type, project } of events) {
      if (type !== 'project.deleted' || project === null) continue
      network.forget(project)
      closeOf(project)
    }
  })

  return {
    create: async (project, wish, context) => {
      const id = newId('shr')
      const { provider } = wish
      const isDirect = provider.tunnel === null
      const host = `${randomName()}.${resolver.shareDomain}`
      // Slow, so outside the transaction.
      const passwordHash = wish.password === undefined ? null : await hashPassword(wish.password)
      const ports = isDirect ? null : await freePorts(store, engine, config, candidates, context.signal)
      const wanted = {
        id,
        project: project.id,
        provider: provider.name,
        workload: wish.workload,
        host,
        url: isDirect ? resolver.urlOf(host) : null,
        state: isDirect ? ('open' as const) : ('connecting' as const),
        passwordHash,
        expiresAt: new Date(now().getTime() + wish.minutes * 60_000).toISOString(),
      }
      const { share, port } = await writeShare(wanted, ports, isOver, context, store)
      closeOf(project.id)
      open.set(id, share)
      clock.schedule()
      await renew(project.id)
      await published(project.id)
      // Only now: what comes through it finds its listener open.
      if (port !== null && open.has(id)) tunnels.hold(share, port)
      return share
    },

    end: async (project, context) => {
      const share = await writeEnd(project, context, store)
      open.delete(share.id)
      void release(share)
      await renew(project.id)
      await published(project.id)
    },

    resume: async () => {
      for (const share of await store.network.allShares()) open.set(share.id, share)
      // Not being able to is no reason to leave projects down: it is tried again.
      await removeOver().catch((error: unknown) => onError(error, 'removing shares that have ended'))
      for (const share of open.values()) {
        if (isOver(share)) continue
        const port = listenerPortOf(share, model.find(share.project)?.leases ?? [])
        if (port !== null) tunnels.hold(share, port)
      }
      clock.schedule()
      // In the background: projects must not wait for what was left behind.
      tunnels
        .sweep((id) => open.has(id))
        .catch((error: unknown) => {
          if (!life.signal.aborted) onError(error, 'removing what shares left')
        })
    },

    close: async () => {
      life.abort()
      stopListening()
      await clock.close()
      await tunnels.close()
    },
  }
}

const directName = 'direct'
const candidates = 8
