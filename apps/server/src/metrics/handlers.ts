import { setImmediate as turn } from 'node:timers/promises'
import { type Metrics, ProblemError } from '@stackquay/contract'
import {
  cpuUnits,
  type ExpositionFormat,
  expositionEnd,
  expositionFormat,
  expositionTypes,
  type MetricColumn,
  type MetricFamily,
  type MetricPoint,
  metricColumns,
  metricRanges,
  printFamily,
  rollUp,
} from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import { type FamiliesDeps, metricFamilies } from './families.ts'
import type { MetricsKeeper } from './keeper.ts'

export interface MetricsDeps extends Omit<FamiliesDeps, 'history'> {
  readonly store: { readonly projects: Pick<Store['projects'], 'find'> }
  readonly metrics: Pick<MetricsKeeper, 'read' | 'history'>
  readonly now: () => Date
}

export function metricsHandlers(deps: MetricsDeps): Pick<Handlers, 'getProjectMetrics' | 'getMetrics'> {
  const { store, metrics, now } = deps
  return {
    getProjectMetrics: async ({ params, query }) => {
      const row = await store.projects.find(params.id)
      if (row === null) throw new ProblemError('not_found', `There is no project "${params.id}".`)
      const { whole, step } = metricRanges[query.range]
      // The step that is running is the last one.
      const to = (Math.floor(now().getTime() / 1000 / step) + 1) * step
      const from = to - whole
      const wanted = { step, from, to, workload: query.workload }
      const found = await metrics.history.read(row.id, wanted).catch((error: unknown) => {
        throw notReadable(error)
      })
      const grid = { from, step, count: whole / step }
      return { status: 200, body: metricsView(found, grid, query.workload === undefined) }
    },
    getMetrics: async (_input, context) => {
      const format = expositionFormat(context.header('accept'))
      const families = await metricFamilies(await metrics.read(), { ...deps, history: metrics.history.state })
      const headers = { 'content-type': expositionTypes[format], vary: 'accept' }
      return { status: 200, stream: printAll(families, format), headers }
    },
  }
}

/** Others have their turn in between: a thousand projects are ten thousand lines. */
async function* printAll(families: readonly MetricFamily[], format: ExpositionFormat): AsyncGenerator<string> {
  for (const family of families) {
    for (const text of printFamily(family, format)) {
      yield text
      await turn()
    }
  }
  yield expositionEnd[format]
}

interface Grid {
  readonly from: number
  readonly step: number
  readonly count: number
}

function metricsView(found: ReadonlyMap<string, readonly MetricPoint[]>, grid: Grid, withRequests: boolean): Metrics {
  const items = [...found]
    .filter(([workload, points]) => workload !== '' && points.length > 0)
    .map(([workload, points]) => {
      const of = seriesIn(points, grid)
      return {
        workload,
        cpu: of('cpu', inCores),
        cpuMax: of('cpuMax', inCores),
        memoryBytes: of('memory'),
        memoryMaxBytes: of('memoryMax'),
        readBytes: of('read'),
        writtenBytes: of('written'),
        receivedBytes: of('received'),
        sentBytes: of('sent'),
      }
    })
  const of = seriesIn(found.get('') ?? [], grid)
  const [requests, durations] = [of('requests'), of('duration')]
  const seconds = durations?.map((all, index) => meanSeconds(all, requests?.[index] ?? 0)) ?? null
  const from = new Date(grid.from * 1000).toISOString()
  return {
    from,
    stepSeconds: grid.step,
    items,
    requests: withRequests ? { requests, errors: of('errors'), seconds } : null,
  }
}

/** A column with a value for each step; null when it has none at all. */
function seriesIn(points: readonly MetricPoint[], { from, step, count }: Grid) {
  // Points of the shortest step do not say their maxima.
  const rolled = rollUp(points, step)
  return (column: MetricColumn, shown: (value: number) => number = Number): (number | null)[] | null => {
    const index = metricColumns.indexOf(column)
    const values = new Array<number | null>(count).fill(null)
    let isKnown = false
    for (const point of rolled) {
      const value = point.values[index] ?? null
      const at = (point.time - from) / step
      if (value === null || at < 0 || at >= count) continue
      values[at] = shown(value)
      isKnown = true
    }
    return isKnown ? values : null
  }
}

function inCores(value: number): number {
  return value / cpuUnits
}

function meanSeconds(milliseconds: number | null, requests: number): number | null {
  return milliseconds === null || requests === 0 ? null : Math.round(milliseconds / requests) / 1000
}

function notReadable(error: unknown): ProblemError {
  const why = error instanceof Error ? error.message : String(error)
  return new ProblemError('unavailable', `The history of metrics cannot be read. ${why}`, {
    hint: 'The diagnostics say more (GET /system/diagnostics).',
  })
}
