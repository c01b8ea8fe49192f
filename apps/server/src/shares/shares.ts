import { randomBytes } from 'node:crypto'
import { ProblemError } from '@stackquay/contract'
import type { Engine } from '@stackquay/engine-api'
import { byTheService, type NewAuditEntry, newId, type ProjectRow, type ShareRow, type Store } from '@stackquay/store'
import { hashPassword } from '../access/passwords.ts'
import { changed } from '../addresses/domain-handlers.ts'
import type { Config } from '../config.ts'
import type { RequestContext } from '../http/handler.ts'
import type { Network } from '../network/network.ts'
import type { ShareProvider, Surroundings } from '../network/providers/provider.ts'
import { listenerPortName, listenerPortOf } from '../network/share-listener.ts'
import type { Model } from '../projects/model.ts'
import { freePorts } from '../projects/prepare.ts'
import type { Resolver } from '../projects/resolver.ts'
import { createShareTunnels } from './share-tunnels.ts'

/** Shares of all projects: one a project at a time, and each ends by itself. */
export interface Shares {
  create(project: ProjectRow, wish: ShareWish, context: RequestContext): Promise<ShareRow>
  /** Throws `not_found` when there is none. Ends when the proxy no longer lets anybody in. */
  end(project: ProjectRow, context: RequestContext): Promise<void>
  /** At the start of the service: removes what ended meanwhile, and goes on with the rest. */
  takeUp(): Promise<void>
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
  readonly surroundings: Surroundings
  /** Ends when the proxy has taken the change, or a while has passed. */
  published(project: string): Promise<void>
  readonly now: () => Date
  onError(error: unknown, what: string): void
}

export function createShares(deps: SharesDeps): Shares {
  const { store, engine, model, resolver, network, config, published, now, onError } = deps
  const open = new Map<string, ShareRow>()
  const life = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let removing: Promise<void> = Promise.resolve()

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
    await store.transaction(async (tx) => {
      const row = await store.projects.find(known.project)
      if (row === null || (await store.network.share(row.id))?.id !== id) return
      await tx.network.updateShare(id, change)
      await tx.events.append(changed(row))
    })
    if (open.has(id)) open.set(id, { ...known, ...change })
    await renew(known.project)
  }
  const tunnels = createShareTunnels({
    commands: engine.commands,
    surroundings: deps.surroundings,
    now,
    onError,
    opened: (id, url) => learn(id, { url, state: 'open', detail: null }),
    failed: (id, detail) => learn(id, { state: 'failed', detail }),
  })

  /** The proxy ends it by its own clock; here it is only cleared away. */
  const expire = async (share: ShareRow) => {
    await store.transaction(async (tx) => {
      const row = await store.projects.find(share.project)
      if (row === null || (await store.network.share(row.id))?.id !== share.id) return
      await tx.network.deleteShare(share.id)
      await tx.ports.release(row.id, share.id)
      await tx.audit.append(expired(share, row))
      await tx.events.append(changed(row))
    })
    open.delete(share.id)
    void letGo(share)
    await renew(share.project)
  }
  const letGo = async (share: ShareRow) => {
    if (share.provider !== directName) await tunnels.drop(share)
  }
  const removeOver = async () => {
    for (const share of [...open.values()]) {
      if (life.signal.aborted) return
      if (isOver(share)) await expire(share)
    }
  }
  const schedule = (atLeastMs = 0) => {
    clearTimeout(timer)
    if (open.size === 0 || life.signal.aborted) return
    const next = Math.min(...[...open.values()].map(({ expiresAt }) => Date.parse(expiresAt)))
    // Looked at often, because clocks are set and machines sleep.
    const wait = Math.max(atLeastMs, Math.min(lookEveryMs, Math.max(0, next - now().getTime())))
    timer = setTimeout(() => {
      removing = removeOver().then(
        () => schedule(),
        (error: unknown) => {
          onError(error, 'removing shares that have ended')
          schedule(againAfterMs)
        },
      )
    }, wait).unref()
  }

  const stopListening = store.onCommit((events) => {
    for (const { type, project } of events) {
      if (type !== 'project.deleted' || project === null) continue
      network.forget(project)
      for (const share of [...open.values()]) {
        if (share.project !== project) continue
        open.delete(share.id)
        void letGo(share)
      }
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
      const ports = isDirect ? [] : await freePorts(store, engine, config, candidates, context.signal)
      const { share, port } = await store.transaction(async (tx) => {
        const row = await store.projects.find(project.id)
        if (row === null) throw new ProblemError('not_found', 'The project is gone.')
        const before = await store.network.share(row.id)
        if (before !== null && !isOver(before)) throw oneIsThere(before)
        const share = await tx.network.putShare({
          id,
          project: row.id,
          provider: provider.name,
          workload: wish.workload,
          host,
          url: isDirect ? resolver.urlOf(host) : null,
          state: isDirect ? 'open' : 'connecting',
          passwordHash,
          actor: context.actor,
          expiresAt: new Date(now().getTime() + wish.minutes * 60_000).toISOString(),
        })
        if (before !== null) {
          await tx.ports.release(row.id, before.id)
          await tx.audit.append(expired(before, row))
        }
        const port = isDirect ? null : await tx.ports.lease(row.id, id, listenerPortName, ports)
        await tx.audit.append(
          context.audit({
            action: 'share.create',
            target: row.slug,
            project: row.id,
            changes: { after: recorded(share) },
          }),
        )
        await tx.events.append(changed(row))
        return { share, port }
      })
      for (const other of [...open.values()]) {
        if (other.project !== project.id) continue
        open.delete(other.id)
        void letGo(other)
      }
      open.set(id, share)
      schedule()
      await renew(project.id)
      await published(project.id)
      // Only now: what comes through it finds its listener open.
      if (port !== null && open.has(id)) tunnels.hold(share, port)
      return share
    },

    end: async (project, context) => {
      const share = await store.transaction(async (tx) => {
        const found = await store.network.share(project.id)
        if (found === null) throw new ProblemError('not_found', `The project "${project.slug}" has no share.`)
        await tx.network.deleteShare(found.id)
        await tx.ports.release(project.id, found.id)
        await tx.audit.append(
          context.audit({
            action: 'share.end',
            target: project.slug,
            project: project.id,
            changes: { before: recorded(found) },
          }),
        )
        await tx.events.append(changed(project))
        return found
      })
      open.delete(share.id)
      void letGo(share)
      await renew(project.id)
      await published(project.id)
    },

    takeUp: async () => {
      for (const share of await store.network.allShares()) open.set(share.id, share)
      // Not being able to is no reason to leave projects down: it is tried again.
      await removeOver().catch((error: unknown) => onError(error, 'removing shares that have ended'))
      for (const share of open.values()) {
        if (isOver(share)) continue
        const port = listenerPortOf(share, model.find(share.project)?.leases ?? [])
        if (port !== null) tunnels.hold(share, port)
      }
      schedule()
      // In the background: projects must not wait for what was left behind.
      tunnels
        .sweep((id) => open.has(id))
        .catch((error: unknown) => {
          if (!life.signal.aborted) onError(error, 'removing what shares left')
        })
    },

    close: async () => {
      life.abort()
      clearTimeout(timer)
      stopListening()
      await removing
      await tunnels.close()
    },
  }
}

function oneIsThere({ expiresAt, actor }: ShareRow): ProblemError {
  return new ProblemError('conflict', `The project is shared already, by ${actor}, until ${expiresAt}.`, {
    hint: 'End that share first, or use it.',
  })
}

/** Without its address: whoever reads the audit log need not be let in. */
function recorded({ id, provider, workload, expiresAt, passwordHash }: ShareRow) {
  return { id, provider, workload, expiresAt, hasPassword: passwordHash !== null }
}

function expired(share: ShareRow, row: ProjectRow): NewAuditEntry {
  return byTheService({
    action: 'share.expire',
    target: row.slug,
    project: row.id,
    changes: { before: recorded(share) },
  })
}

/** 80 random bits in base32 (RFC 4648), in lower case as host names are. */
function randomName(): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
  const bits = [...randomBytes(10)].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return bits.replace(/.{5}/g, (five) => alphabet[Number.parseInt(five, 2)]!)
}

const directName = 'direct'
const candidates = 8
const lookEveryMs = 1_000
const againAfterMs = 10_000
