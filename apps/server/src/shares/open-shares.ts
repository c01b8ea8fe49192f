import type { Engine } from '@stackquay/engine-api'
import type { ShareRow, Store } from '@stackquay/store'
import type { Network } from '../network/network.ts'
import type { ProviderEnvironment } from '../network/providers/provider.ts'
import type { Model } from '../projects/model.ts'
import { writeLearnt } from './share-records.ts'
import { createShareTunnels } from './share-tunnels.ts'

/** The shares that are open now, each with the program that brings people in. */
export interface OpenShares {
  all(): readonly ShareRow[]
  has(id: string): boolean
  /** From now on it is open. The project's share before it is not, and its program ends. */
  put(share: ShareRow): void
  /** Starts its program, or follows the one that was started before. It finds people's way in at this port. */
  connect(share: ShareRow, port: number): void
  /** It is not open any more, and its program ends. */
  remove(share: ShareRow): void
  removeOf(project: string): void
  /** Ends programs of shares that are not open: a crash between two steps left them. */
  sweep(): Promise<void>
  /** Programs go on. */
  close(): Promise<void>
}

export interface OpenSharesDeps {
  readonly store: Store
  readonly engine: Pick<Engine, 'commands'>
  readonly environment: ProviderEnvironment
  /** What the proxy is told of a project is made anew. */
  renew(project: string): Promise<void>
  readonly now: () => Date
  onError(error: unknown, what: string): void
}

export function createOpenShares({ store, engine, environment, renew, now, onError }: OpenSharesDeps): OpenShares {
  const open = new Map<string, ShareRow>()

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
    environment,
    now,
    onError,
    opened: (id, url) => learn(id, { url, state: 'open', detail: null }),
    failed: (id, detail) => learn(id, { state: 'failed', detail }),
  })

  const remove = (share: ShareRow) => {
    open.delete(share.id)
    if (share.provider !== directName) void tunnels.drop(share)
  }
  const removeOf = (project: string) => {
    for (const share of [...open.values()]) if (share.project === project) remove(share)
  }

  return {
    all: () => [...open.values()],
    has: (id) => open.has(id),
    put: (share) => {
      removeOf(share.project)
      open.set(share.id, share)
    },
    connect: tunnels.hold,
    remove,
    removeOf,
    sweep: () => tunnels.sweep((id) => open.has(id)),
    close: tunnels.close,
  }
}

const directName = 'direct'

/** What the proxy is told of a project is made anew. A project that was deleted meanwhile has nothing to tell. */
export async function renewNetwork(
  project: string,
  { store, network, model }: { readonly store: Store; readonly network: Network; readonly model: Model },
): Promise<void> {
  if ((await store.projects.find(project)) === null) return
  await network.renew(project)
  await model.renew(project).catch(async (error: unknown) => {
    if ((await store.projects.find(project)) !== null) throw error
  })
}
