import { ProblemError } from '@stackquay/contract'
import type { Engine } from '@stackquay/engine-api'
import type { Store } from '@stackquay/store'
import type { FrameSocket, Handlers, StreamHandlers } from '../http/handler.ts'
import type { Model } from '../projects/model.ts'
import type { Workers } from '../workers/workers.ts'
import { downloadHeaders, downloadOf } from './log-download.ts'
import { isoTime, type LogFilter, type LogQuery, logFilter } from './log-filter.ts'
import { createMatchers } from './log-match.ts'
import { linesAfter, newestLines } from './log-page.ts'
import { readPosition, writePosition } from './log-position.ts'
import { createLogStreams, type Followed } from './log-streams.ts'

export interface LogDeps {
  readonly store: { readonly projects: Pick<Store['projects'], 'find'> }
  readonly engine: Pick<Engine, 'logBatches'>
  readonly model: Pick<Model, 'find' | 'renew'>
  readonly workers: Pick<Workers, 'run'>
}

/** All texts of one answer together; a stream and a download may search for longer. */
const searchMs = 5000

export function logHandlers({
  store,
  engine,
  model,
  workers,
}: LogDeps): Pick<Handlers, 'getProjectLogs' | 'downloadLogs'> & Pick<StreamHandlers, 'watchProjectLogs'> {
  const matchers = createMatchers(workers)
  const streams = createLogStreams(engine)

  const { namesOf, workloadsOf } = workloadNames(store, model)
  const filterOf = (query: LogQuery, totalMs?: number): LogFilter | null => {
    const isPattern = query.regex === true && query.q !== undefined && query.q !== ''
    return logFilter(query, isPattern ? matchers.matcher(query.q ?? '', totalMs) : null)
  }

  return {
    getProjectLogs: async ({ params, query }, { signal }) => {
      const from = query.cursor === undefined ? null : readPosition(query.cursor)
      const fits = filterOf(query, searchMs)
      const { project, names } = await workloadsOf(params.id, query.workload)
      const { limit = 500, since, until } = query
      const request = { engine, project, names, limit, fits, ...times({ since, until }), signal }
      return { status: 200, body: await (from === null ? newestLines(request) : linesAfter(request, from)) }
    },

    downloadLogs: async ({ params, query }, { signal }) => {
      const fits = filterOf(query)
      const { project, slug, names } = await workloadsOf(params.id, query.workload)
      const { format } = query
      return {
        status: 200,
        headers: downloadHeaders(slug, query.workload, format),
        stream: downloadOf({ engine, project, names, fits, format, ...times(query), signal }),
      }
    },

    watchProjectLogs: async ({ params, query }, _context, socket) => {
      const from = query.cursor === undefined ? null : readPosition(query.cursor)
      const { project } = await workloadsOf(params.id, query.workload)
      // Whoever goes on from a cursor is behind that time already, and shares with those who did not say it.
      const { since, tail, cursor: _cursor, ...lasting } = query
      const fits = filterOf(lasting)
      const followed: Followed = {
        key: JSON.stringify([project, query.workload, query.q, query.regex === true, query.level, query.until]),
        project,
        names: async () => {
          const names = await namesOf(project)
          return query.workload === undefined ? names : [query.workload]
        },
        fits,
      }
      await socket.send({ type: 'start' })
      let position = from === null ? null : writePosition(from)
      if (position === null && since !== undefined && tail === undefined)
        position = writePosition({ time: isoTime(since), cursors: {} })
      position ??= await sendTail(socket, followed, { engine, limit: tail ?? 200, ...times(query) })
      await streams.send(followed, socket, position)
    },
  }
}

export function workloadNames(store: LogDeps['store'], model: LogDeps['model']) {
  const namesOf = async (project: string): Promise<readonly string[]> => {
    const known = model.find(project) ?? ((await store.projects.find(project)) && (await model.renew(project)))
    if (known === null) throw new ProblemError('not_found', 'The project was deleted.')
    return known.resolved.workloads.map((workload) => workload.ref.workload)
  }
  return {
    namesOf,
    /** Of a project that is named by a request: all, or the one that it names. */
    workloadsOf: async (idOrSlug: string, only: string | undefined) => {
      const row = await store.projects.find(idOrSlug)
      if (row === null) throw new ProblemError('not_found', `There is no project "${idOrSlug}".`)
      const names = await namesOf(row.id)
      if (only !== undefined && !names.includes(only)) {
        throw new ProblemError('not_found', `There is no workload "${only}"; there is ${names.join(', ') || 'none'}.`)
      }
      return { project: row.id, slug: row.slug, names: only === undefined ? names : [only] }
    },
  }
}

/** The last lines of each workload. Answers where following goes on. */
async function sendTail(
  socket: FrameSocket,
  { project, names, fits }: Followed,
  { limit, engine, ...range }: TailRequest,
): Promise<string> {
  const { signal } = socket
  const request = { engine, project, names: await names(), limit, fits, ...range, signal, ofEach: true }
  const { items, nextCursor } = await newestLines(request)
  for (let at = 0; at < items.length; at += tailFrame)
    await socket.send({ type: 'lines', items: items.slice(at, at + tailFrame) })
  return nextCursor
}

interface TailRequest extends Pick<LogDeps, 'engine'> {
  readonly limit: number
  readonly since?: string
  readonly until?: string
}

/** Lines in one frame of what was there before. */
const tailFrame = 250

function times(query: Pick<LogQuery, 'since' | 'until'>): { readonly since?: string; readonly until?: string } {
  return {
    ...(query.since === undefined ? {} : { since: isoTime(query.since) }),
    ...(query.until === undefined ? {} : { until: isoTime(query.until) }),
  }
}
