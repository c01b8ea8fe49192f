import { operations, ProblemError } from '@stackquay/contract'
import type { NamedEnvironment, ProjectCommands } from '@stackquay/domain'
import { includes, raisedScope, rightsWithEnvironments, roleOn } from '@stackquay/domain/access'
import type { CommandRef, Commands, Engine } from '@stackquay/engine-api'
import type { ProjectRow, RunRow, Store } from '@stackquay/store'
import type { DeniedLog } from '../http/denied-log.ts'
import type { FrameSocket, Handlers, Reply, RequestContext, StreamHandlers } from '../http/handler.ts'
import { roleInsufficient } from '../http/refusal-problem.ts'
import { requireScope } from '../http/rights.ts'
import type { Resolver } from '../projects/resolver.ts'
import type { Awake } from '../sleep/fall-asleep-and-wake.ts'
import type { WantedRun } from './queue-run.ts'
import { actionView, isOver, shownRun, suiteView, testCaseView } from './run-view.ts'
import type { Runs } from './runs.ts'
import { createWatchRun } from './watch-run.ts'

export interface RunHandlersDeps {
  readonly store: Store
  readonly engine: Engine
  readonly resolver: Pick<Resolver, 'commands'>
  readonly runs: Runs
  readonly awake: Awake
}

export interface RunStreamsDeps extends RunHandlersDeps {
  /** Ends when what was on its way at the start of the service goes on. */
  readonly ready: Promise<void>
  readonly denied: Pick<DeniedLog, 'record'>
}

type RunHandlers = Pick<
  Handlers,
  | 'listActions'
  | 'runAction'
  | 'listTests'
  | 'runTests'
  | 'listRuns'
  | 'getRun'
  | 'listTestCases'
  | 'getRunOutput'
  | 'cancelRun'
>
type Kind = Exclude<RunRow['kind'], 'cron'>

const recentRuns = 50
const scopeToCancel = raisedScope(operations.watchRun.access, { frame: { type: 'cancel' } }) ?? 'admin'

export function runHandlers(deps: RunHandlersDeps): RunHandlers {
  return { ...startingHandlers(deps), ...startedHandlers(deps) }
}

/** Answers a run as it is after so many seconds, or at its end. */
function createAnswer({ store, engine, runs }: RunHandlersDeps) {
  return async (row: RunRow, seconds: number | undefined, context: RequestContext) => {
    if (seconds !== undefined && seconds > 0)
      await runs.ended(row.id, AbortSignal.any([context.signal, AbortSignal.timeout(seconds * 1000)]))
    const now = (await store.runs.find(row.id)) ?? row
    return { status: isOver(now) ? 200 : 202, body: await shownRun(now, engine.commands) }
  }
}

type StartingHandlers = Pick<RunHandlers, 'listActions' | 'runAction' | 'listTests' | 'runTests'>

function startingHandlers(deps: RunHandlersDeps): StartingHandlers {
  const { store, resolver, runs, awake } = deps
  const { findProject, wanted } = lookUps(store, resolver)
  const { commands } = deps.engine
  const answer = createAnswer(deps)
  const run = async (
    kind: Kind,
    id: string,
    name: string,
    filter: string | undefined,
    wait: number | undefined,
    context: RequestContext,
  ) => {
    const found = await findProject(id)
    const what = await wanted(found, kind, name, filter)
    const project = kind === 'action' ? await awake(found, context) : found
    return answer(await runs.start(project, what, context), wait, context)
  }

  return {
    listActions: async ({ params }) => {
      const project = await findProject(params.id)
      const [found, last] = await Promise.all([resolver.commands(project), store.runs.lastOf(project.id, 'action')])
      const items = found.actions.map((action) =>
        actionView(
          action,
          blockerOf(action, found),
          last.find(({ name }) => name === action.id),
        ),
      )
      return { status: 200, body: { items } }
    },

    runAction: ({ params, query }, context) => run('action', params.id, params.action, undefined, query.wait, context),

    listTests: async ({ params }) => {
      const project = await findProject(params.id)
      const [found, last, recent] = await Promise.all([
        resolver.commands(project),
        store.runs.lastOf(project.id, 'test'),
        store.runs.list({ project: project.id, kind: 'test', limit: recentRuns }),
      ])
      const suites = found.suites.map(async (suite) => {
        const newest = last.find(({ name }) => name === suite.id)
        return suiteView(suite, blockerOf(suite, found), newest === undefined ? null : await shownRun(newest, commands))
      })
      return { status: 200, body: { suites: await Promise.all(suites), runs: await shownAll(recent, commands) } }
    },

    runTests: ({ params, query, body }, context) =>
      run('test', params.id, params.suite, body?.filter, query.wait, context),
  }
}

function startedHandlers(deps: RunHandlersDeps): Omit<RunHandlers, keyof StartingHandlers> {
  const { store, resolver, runs } = deps
  const { findProject, findRun } = lookUps(store, resolver)
  const { commands } = deps.engine
  const answer = createAnswer(deps)

  return {
    listRuns: async ({ params, query }) => {
      const project = await findProject(params.id)
      const limit = query.limit ?? 50
      const { cursor, kind, name, state } = query
      const rows = await store.runs.list({
        project: project.id,
        limit: limit + 1,
        ...(cursor === undefined ? {} : { cursor }),
        ...(kind === undefined ? {} : { kind }),
        ...(name === undefined ? {} : { name }),
        ...(state === undefined ? {} : { state }),
      })
      const shown = rows.slice(0, limit)
      const items = await shownAll(shown, commands)
      return { status: 200, body: { items, nextCursor: rows.length > limit ? shown.at(-1)!.id : null } }
    },

    getRun: async ({ params, query }, context) => {
      const { row } = await findRun(params.id, params.run)
      const { body } = await answer(row, query.wait, context)
      return { status: 200, body }
    },

    listTestCases: async ({ params, query }) => {
      const { row } = await findRun(params.id, params.run)
      const limit = query.limit ?? 50
      const rows = await store.runs.cases(row.id, {
        limit: limit + 1,
        ...(query.cursor === undefined ? {} : { after: positionOf(query.cursor) }),
        ...(query.outcome === undefined ? {} : { outcome: query.outcome }),
      })
      const shown = rows.slice(0, limit)
      const nextCursor = rows.length > limit ? String(shown.at(-1)!.position) : null
      return { status: 200, body: { items: shown.map(testCaseView), nextCursor } }
    },

    getRunOutput: async ({ params }, context): Promise<Reply<string>> => {
      const { row } = await findRun(params.id, params.run)
      const ref = { project: row.project, id: row.id }
      if ((await commands.find(ref)) === null)
        throw new ProblemError('not_found', `Of the run ${row.id} no output is kept.`, {
          hint: isOver(row) ? 'Only the newest runs keep theirs.' : 'Its command has not begun yet.',
        })
      return {
        status: 200,
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        stream: textOf(commands, ref, context.signal),
      }
    },

    cancelRun: async ({ params, query }, context) => {
      const { row, project } = await findRun(params.id, params.run)
      await runs.cancel(row, project, context)
      return answer(row, query.wait, context)
    },
  }
}

export function runStreams(deps: RunStreamsDeps): Pick<StreamHandlers, 'watchAction' | 'watchTests' | 'watchRun'> {
  const { store, engine, resolver, runs, ready, denied, awake } = deps
  const { findProject, findRun, wanted } = lookUps(store, resolver)
  const watch = createWatchRun({ store, runs, commands: engine.commands })

  const follow = (
    row: RunRow,
    project: ProjectRow,
    after: number | undefined,
    context: RequestContext,
    socket: FrameSocket,
  ) =>
    watch(row, after ?? 0, socket, async () => {
      await requireMayCancelNow(row, project, context)
      await runs.cancel(row, project, context)
    })

  /**
   * What following a run declares about `cancel`, asked of the rights as they are now: those of the one who watches may be
   * fewer since. A refusal is written down.
   */
  const requireMayCancelNow = async (row: RunRow, project: ProjectRow, context: RequestContext) => {
    const { principal } = context
    try {
      requireScope(context, scopeToCancel)
      const user = principal.kind === 'anonymous' ? null : await store.users.find(principal.user.id)
      const role = user === null ? null : roleOn(rightsWithEnvironments(user, ownBranch(project)), project.id)
      if (user === null || user.disabled || role === null || !includes(role, scopeToCancel))
        throw roleInsufficient(role ?? 'read', scopeToCancel)
    } catch (error) {
      if (error instanceof ProblemError) {
        const changes = { run: row.id, reason: error.code }
        const entry = { action: 'run.cancel', target: project.slug, project: project.id, changes } as const
        await denied.record(context.audit({ ...entry, outcome: 'denied' }))
      }
      throw error
    }
  }

  const startOrFollow = async (
    kind: Kind,
    at: { readonly id: string; readonly name: string },
    query: {
      readonly run?: string | undefined
      readonly after?: number | undefined
      readonly filter?: string | undefined
    },
    context: RequestContext,
    socket: FrameSocket,
  ) => {
    await ready
    if (query.run !== undefined) {
      const { row, project } = await findRun(at.id, query.run)
      if (row.kind !== kind || row.name !== at.name)
        throw new ProblemError('not_found', `The run ${row.id} is none of "${at.name}".`)
      return follow(row, project, query.after, context, socket)
    }
    if (query.after !== undefined && query.after > 0)
      throw new ProblemError('invalid_request', 'With "after" goes "run": which run is to be followed?')
    const found = await findProject(at.id)
    const what = await wanted(found, kind, at.name, query.filter)
    const project = kind === 'action' ? await awake(found, context) : found
    const row = await runs.start(project, what, context)
    return follow(row, project, 0, context, socket)
  }

  return {
    watchAction: ({ params, query }, context, socket) =>
      startOrFollow('action', { id: params.id, name: params.action }, query, context, socket),
    watchTests: ({ params, query }, context, socket) =>
      startOrFollow('test', { id: params.id, name: params.suite }, query, context, socket),
    watchRun: async ({ params, query }, context, socket) => {
      await ready
      const { row, project } = await findRun(params.id, params.run)
      await follow(row, project, query.after, context, socket)
    },
  }
}

function lookUps(store: Store, resolver: Pick<Resolver, 'commands'>) {
  const findProject = async (idOrSlug: string): Promise<ProjectRow> => {
    const row = await store.projects.find(idOrSlug)
    if (row === null) throw new ProblemError('not_found', `There is no project "${idOrSlug}".`)
    return row
  }
  return {
    findProject,
    /** A run of another project is not there, so that nobody learns of it. */
    findRun: async (idOrSlug: string, id: string): Promise<{ row: RunRow; project: ProjectRow }> => {
      const project = await findProject(idOrSlug)
      const row = await store.runs.find(id)
      if (row === null || row.project !== project.id)
        throw new ProblemError('not_found', `The project "${project.slug}" has no run "${id}".`)
      return { row, project }
    },
    /** What a name stands for in the source as it is now. Throws when it is not there, or cannot run and why. */
    wanted: async (project: ProjectRow, kind: Kind, name: string, filter: string | undefined): Promise<WantedRun> => {
      const found = await resolver.commands(project)
      const draft = (kind === 'action' ? found.actions : found.suites).find(({ id }) => id === name)
      if (draft === undefined)
        throw new ProblemError(
          'not_found',
          `The project "${project.slug}" has no ${kind === 'action' ? 'action' : 'test suite'} "${name}".`,
          { hint: `GET /projects/${project.slug}/${kind === 'action' ? 'actions' : 'tests'} lists them.` },
        )
      const reason = blockerOf(draft, found)
      if (reason !== null) throw new ProblemError('unavailable_here', reason)
      return { kind, name, label: draft.label, runtime: draft.runtime, filter: filter ?? null }
    },
  }
}

function blockerOf(
  { reason, runtime }: { readonly reason: string | null; readonly runtime: string },
  { environments }: ProjectCommands,
): string | null {
  return reason ?? environments.find(({ name }: NamedEnvironment) => name === runtime)?.reason ?? null
}

function shownAll(rows: readonly RunRow[], commands: Commands) {
  return Promise.all(rows.map((row) => shownRun(row, commands)))
}

async function* textOf(commands: Commands, ref: CommandRef, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const batch of commands.read(ref, { after: 0, follow: false }, signal))
    for (const { bytes } of batch) yield bytes
}

function positionOf(cursor: string): number {
  if (/^\d{1,9}$/.test(cursor)) return Number(cursor)
  throw new ProblemError('invalid_request', 'The cursor is none of this list.', {
    hint: 'Send "nextCursor" as it was answered.',
  })
}

/** Of an environment of a branch the project that it is of. */
function ownBranch({ id, source }: ProjectRow): readonly { readonly project: string; readonly of: string }[] {
  return source?.kind === 'branch' ? [{ project: id, of: source.of }] : []
}
