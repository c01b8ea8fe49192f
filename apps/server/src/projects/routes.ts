import type { Engine } from '@stackquay/engine-api'
import type { PageName, Route, RouteTable, Target } from '@stackquay/proxy/route-table'
import type { Config } from '../config.ts'
import type { Known, Model } from './model.ts'
import type { Resolver } from './resolver.ts'

/** Tells the proxy which host leads where, whenever that changed. One table at a time; what changed meanwhile comes in the next. */
export interface Routes {
  publish(): Promise<void>
}

export function createRoutes(options: {
  readonly model: () => Model
  readonly resolver: Resolver
  readonly engine: Engine
  readonly config: Config
  put(table: RouteTable): Promise<void>
  onError(error: unknown, what: string): void
}): Routes {
  let generation = Date.now()
  let last = ''
  let running: Promise<void> | null = null
  let again = false

  const once = async () => {
    const routes = (
      await Promise.all(
        options
          .model()
          .all()
          .map((known) => routesOf(known, options)),
      )
    ).flat()
    const text = JSON.stringify(routes)
    if (text === last) return
    generation += 1
    await options.put({ version: 1, generation, routes })
    last = text
  }

  const publish = async (): Promise<void> => {
    if (running !== null) {
      again = true
      await running
      if (!again) return
      again = false
      return publish()
    }
    running = once()
      .catch((error: unknown) => options.onError(error, 'telling the proxy'))
      .finally(() => {
        running = null
      })
    await running
  }
  return { publish }
}

async function routesOf(
  known: Known,
  options: {
    readonly model: () => Model
    readonly resolver: Resolver
    readonly engine: Engine
    readonly config: Config
  },
): Promise<readonly Route[]> {
  const { row, resolved } = known
  const project = { id: row.id, slug: row.slug, name: row.spec.name }
  const front: Route = {
    hosts: [options.resolver.host(row.slug)],
    project,
    target: await targetOf(known, resolved.front, options),
  }
  const extra = await Promise.all(
    resolved.extraHosts.map(
      async (host): Promise<Route> => ({
        hosts: [options.resolver.host(row.slug, host.suffix)],
        project,
        target: await targetOf(known, host, options),
      }),
    ),
  )
  return [front, ...extra]
}

async function targetOf(
  known: Known,
  to: { readonly workload: string; readonly port: string } | null,
  options: { readonly model: () => Model; readonly engine: Engine; readonly config: Config },
): Promise<Target> {
  const { row } = known
  const status = options.model().status(row.id)
  const workload = status.workloads.find((candidate) => candidate.name === to?.workload)
  // A program that never became ready has no address worth trying; one that was healthy before may still answer.
  const answers = workload?.state === 'running' || workload?.state === 'stopping' || workload?.health === 'unhealthy'
  if (to !== null && answers) {
    const address = await options.engine.address({ project: row.id, workload: to.workload }, to.port)
    if (address !== null) return { kind: 'upstream', host: address.host, port: address.port }
  }
  return {
    kind: 'page',
    page: pageFor(status.state, workload?.state),
    ...detailOf(status, workload),
    dashboardUrl: `${options.config.publicUrl}/projects/${row.slug}`,
  }
}

function pageFor(project: string, workload: string | undefined): PageName {
  if (project === 'creating') return 'creating'
  if (workload === 'waiting') return 'waiting'
  if (workload === 'crashed' || workload === 'unhealthy' || project === 'failed') return 'failed'
  if (project === 'starting' || workload === 'starting' || workload === 'backing-off') return 'starting'
  return 'stopped'
}

function detailOf(
  status: ReturnType<Model['status']>,
  workload: ReturnType<Model['status']>['workloads'][number] | undefined,
): { detail?: string; logTail?: readonly string[] } {
  const detail = workload?.reason ?? status.warnings[0]?.detail
  const logTail = workload?.logTail ?? []
  return { ...(detail == null ? {} : { detail }), ...(logTail.length === 0 ? {} : { logTail }) }
}
