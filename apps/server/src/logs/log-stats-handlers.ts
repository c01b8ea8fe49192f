import { ProblemError } from '@stackquay/contract'
import { reachOf } from '@stackquay/domain/access'
import type { Handlers, Principal } from '../http/handler.ts'
import type { Model } from '../projects/model.ts'
import { TaskLimitError } from '../workers/thread-pool.ts'
import { countLogs } from './log-counts.ts'
import { logFilter } from './log-filter.ts'
import { type LogDeps, workloadNames } from './log-handlers.ts'
import { createMatchers } from './log-match.ts'
import { readSearchPosition, searchProjects } from './log-search.ts'

export interface LogStatsDeps extends Omit<LogDeps, 'model'> {
  readonly model: Pick<Model, 'find' | 'renew' | 'all'>
  readonly now: () => Date
}

const dayMs = 86_400_000
const longestMs = 400 * dayMs
const countMs = 10_000
const searchMs = 5000

export function logStatsHandlers(deps: LogStatsDeps): Pick<Handlers, 'getLogStats' | 'searchLogs'> {
  const { store, engine, model, workers, now } = deps
  const matchers = createMatchers(workers)
  const { workloadsOf } = workloadNames(store, model)
  return {
    getLogStats: async ({ params, query }, { signal }) => {
      const { project, names } = await workloadsOf(params.id, query.workload)
      const until = query.until === undefined ? now().getTime() : Date.parse(query.until)
      const since = query.since === undefined ? until - dayMs : Date.parse(query.since)
      if (since > until || until - since > longestMs)
        throw new ProblemError('invalid_request', '"since" must be before "until", by at most 400 days.')
      const request = { engine, workers, project, names, since, until, budgetMs: countMs, signal }
      return { status: 200, body: await countLogs(request).catch(tooBusy) }
    },

    searchLogs: async ({ query }, { principal, signal }) => {
      const { q, regex, level, limit = 50 } = query
      const cursor = query.cursor === undefined ? null : readSearchPosition(query.cursor)
      const fits = logFilter({ q, level }, regex === true ? matchers.matcher(q, searchMs) : null)
      const wanted = await projectsFor(principal, query.projects, store)
      const projects = model
        .all()
        .flatMap(({ row: { id, slug }, resolved }) =>
          wanted === null || wanted.has(id)
            ? [{ id, slug, names: resolved.workloads.map(({ ref }) => ref.workload) }]
            : [],
        )
      const body = await searchProjects({
        ...{ engine, projects, limit, cursor, budgetMs: searchMs, signal },
        fits: fits ?? ((lines) => lines),
        since: query.since === undefined ? null : Date.parse(query.since),
        until: query.until === undefined ? now().getTime() : Date.parse(query.until),
      })
      return { status: 200, body }
    },
  }
}

/** Ids of those that the caller may read and names; null: all. One that is not among them is refused as everywhere. */
async function projectsFor(
  principal: Principal,
  named: string | undefined,
  store: LogStatsDeps['store'],
): Promise<ReadonlySet<string> | null> {
  const ids = reachOf(principal) ?? undefined
  if (named === undefined) return ids === undefined ? null : new Set(ids)
  const wanted = new Set<string>()
  for (const name of new Set(named.split(',').map((part) => part.trim()))) {
    if (name === '') continue
    const row = await store.projects.find(name)
    if (ids !== undefined && (row === null || !ids.includes(row.id)))
      throw new ProblemError('project_forbidden', 'The token is restricted to other projects.')
    if (row === null) throw new ProblemError('not_found', `There is no project "${name}".`)
    wanted.add(row.id)
  }
  return wanted
}

function tooBusy(error: unknown): never {
  if (!(error instanceof TaskLimitError)) throw error
  throw new ProblemError('unavailable', 'Too many logs are counted at the same time.', { cause: error })
}
