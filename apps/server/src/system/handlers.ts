import type { Handlers } from '../http/handler.ts'
import { isolationState } from '../isolation/isolation-state.ts'
import { type DiagnosticsDeps, runDiagnostics, worst } from './diagnostics.ts'
import { engineStates, projectsOn, readinessOf } from './engine-states.ts'
import { findOrphans, removeOrphan } from './orphans.ts'

export interface SystemDeps extends DiagnosticsDeps {
  /** When this process began, milliseconds. */
  readonly startedAt: number
  /** False while projects are still being found after a start. */
  ready(): boolean
}

export function systemHandlers(
  deps: SystemDeps,
): Pick<Handlers, 'getHealth' | 'getDiagnostics' | 'deleteOrphan' | 'listRuntimes' | 'listServices'> {
  return {
    getHealth: async (_input, { principal }) => {
      const [database, proxy, engines] = await Promise.all([
        databaseAnswers(deps),
        proxyAnswers(deps),
        enginesReady(deps),
      ])
      const isWhole = proxy && engines.every(({ ready }) => ready) && deps.ready()
      const status = !database ? 'unavailable' : isWhole ? 'ok' : 'degraded'
      return {
        status: status === 'unavailable' ? 503 : 200,
        body: {
          status,
          version: deps.version,
          uptimeSeconds: Math.round((deps.now().getTime() - deps.startedAt) / 1000),
          engine: { id: deps.engine.id, ready: engines[0]?.ready === true },
          engines: [...engines],
          database: { ok: database },
          proxy: { ok: proxy },
          ...(principal.kind === 'anonymous' ? {} : { isolation: isolationState(deps.isolation) }),
        },
      }
    },
    getDiagnostics: async (_input, context) => {
      const [checks, engines, orphans] = await Promise.all([
        runDiagnostics(deps, context.signal),
        engineStates(deps, context.signal),
        findOrphans(deps, context.signal).catch(() => []),
      ])
      const status = worst(checks)
      return {
        status: 200,
        body: {
          status,
          version: deps.version,
          checks: [...checks],
          isolation: isolationState(deps.isolation),
          engines: [...engines],
          orphans: [...orphans],
        },
      }
    },
    deleteOrphan: async ({ params, query }, context) => {
      const removed = await removeOrphan(params.orphan, query.data, deps, context)
      return { status: 200, body: removed }
    },
    listRuntimes: async ({ query }) => ({ status: 200, body: await deps.catalogue.runtimes(query.engine) }),
    listServices: async ({ query }) => ({ status: 200, body: await deps.catalogue.services(query.engine) }),
  }
}

async function databaseAnswers({ store }: SystemDeps): Promise<boolean> {
  return store.users.count().then(
    () => true,
    () => false,
  )
}

async function proxyAnswers({ config, proxy }: SystemDeps): Promise<boolean> {
  if (config.proxy === null) return true
  const status = await proxy()
    ?.status()
    .catch(() => undefined)
  return status !== undefined
}

/** One that new projects do not get and no project is on does not count. */
async function enginesReady({ engine, store }: SystemDeps): Promise<readonly { id: string; ready: boolean }[]> {
  const counts = projectsOn(await store.projects.all().catch(() => []))
  const needed = engine.all.filter((one, index) => index === 0 || counts(one.id) > 0)
  return Promise.all(
    needed.map(async (one) => ({ id: one.id, ready: (await readinessOf(one, AbortSignal.timeout(probeMs))).ready })),
  )
}

const probeMs = 2_000
