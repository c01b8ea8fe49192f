import type { Engine } from '@stackquay/engine-api'
import type { Handlers } from '../http/handler.ts'
import { type DiagnosticsDeps, runDiagnostics, worst } from './diagnostics.ts'

export interface SystemDeps extends DiagnosticsDeps {
  /** When this process began, milliseconds. */
  readonly startedAt: number
  /** False while projects are still being found after a start. */
  ready(): boolean
}

export function systemHandlers(
  deps: SystemDeps,
): Pick<Handlers, 'getHealth' | 'getDiagnostics' | 'listRuntimes' | 'listServices'> {
  return {
    getHealth: async () => {
      const [database, proxy, engine] = await Promise.all([
        databaseAnswers(deps),
        proxyAnswers(deps),
        engineReady(deps.engine),
      ])
      const status = !database ? 'unavailable' : proxy && engine && deps.ready() ? 'ok' : 'degraded'
      return {
        status: status === 'unavailable' ? 503 : 200,
        body: {
          status,
          version: deps.version,
          uptimeSeconds: Math.round((deps.now().getTime() - deps.startedAt) / 1000),
          engine: { id: deps.engine.id, ready: engine },
          database: { ok: database },
          proxy: { ok: proxy },
        },
      }
    },
    getDiagnostics: async (_input, context) => {
      const checks = await runDiagnostics(deps, context.signal)
      return { status: 200, body: { status: worst(checks), version: deps.version, checks: [...checks] } }
    },
    listRuntimes: async () => ({ status: 200, body: await deps.catalogue.runtimes() }),
    listServices: async () => ({ status: 200, body: await deps.catalogue.services() }),
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

async function engineReady(engine: Engine): Promise<boolean> {
  const readiness = await engine.probe(AbortSignal.timeout(2_000)).catch(() => null)
  return readiness?.ready === true
}
