import type { CallInput, CallResult, OperationId, Operations, Plan, Run } from '@stackquay/contract'
import { fillPath, type QueryValue } from './address.ts'
import { type ExecCommand, type ExecOptions, type ExecSession, exec } from './exec.ts'
import { type FollowEventsOptions, type FollowEventsQuery, followEvents } from './follow-events.ts'
import { type FollowLogsOptions, type FollowLogsQuery, followLogs } from './follow-logs.ts'
import { type FollowRunOptions, followRun } from './follow-run.ts'
import { type FollowStatsOptions, followStats } from './follow-stats.ts'
import { type FollowTerminalOptions, followTerminal, type TerminalSession } from './follow-terminal.ts'
import { routes } from './routes.ts'
import { type RunStart, type StartRunOptions, startRun } from './start-run.ts'
import { ticketed } from './ticket.ts'
import { type Answer, type CallOptions, type ClientOptions, type Request, request } from './transport.ts'

/** Operations that answer once; streams have their own methods. */
export type CallableId = { [Id in OperationId]: Operations[Id] extends { stream: string } ? never : Id }[OperationId]
/** Operations that can say what they would do. */
export type PlannableId = { [Id in OperationId]: Operations[Id] extends { dryRun: true } ? Id : never }[OperationId]

export interface Client {
  readonly baseUrl: string
  /** The answer's body, typed by the contract. Throws `ApiError`, `ConnectionError` or the signal's reason. */
  call<Id extends CallableId>(id: Id, input?: CallInput<Id>, options?: CallOptions): Promise<CallResult<Id>>
  /** The same with status, ETag and headers. */
  callFull<Id extends CallableId>(id: Id, input?: CallInput<Id>, options?: CallOptions): Promise<Answer<CallResult<Id>>>
  /** The same request with `dryRun`: all checks, and the steps that would run. Nothing is written. */
  plan<Id extends PlannableId>(id: Id, input?: CallInput<Id>, options?: CallOptions): Promise<Plan>
  /** A request that the contract does not know by name; `path` is below `/api/v1`. */
  request(wanted: Request, options?: CallOptions): Promise<Answer<unknown>>
  /** The path with a ticket, for what a browser opens or saves by its address. Both are below `/api/v1`. */
  ticketed(path: string, signal?: AbortSignal): Promise<string>
  followLogs(id: string, query: FollowLogsQuery, options: FollowLogsOptions): Promise<void>
  followStats(id: string, options: FollowStatsOptions): Promise<void>
  followEvents(query: FollowEventsQuery, options: FollowEventsOptions): Promise<void>
  /** Starts an action or a suite once, and follows it to its end; null when the signal aborted first. */
  startRun(project: string, what: RunStart, options: StartRunOptions): Promise<Run | null>
  followRun(project: string, run: string, options: FollowRunOptions): Promise<Run | null>
  followTerminal(project: string, term: string, options: FollowTerminalOptions): TerminalSession
  exec(project: string, command: ExecCommand, options: ExecOptions): ExecSession
}

export function createClient(options: ClientOptions): Client {
  async function callFull<Id extends CallableId>(id: Id, input?: CallInput<Id>, callOptions?: CallOptions) {
    return (await request(options, requestOf(id, input as LooseInput | undefined), callOptions)) as Answer<
      CallResult<Id>
    >
  }
  return {
    baseUrl: options.baseUrl,
    callFull,
    call: async (id, input, callOptions) => (await callFull(id, input, callOptions)).data,
    plan: async (id, input, callOptions) => {
      const wanted = requestOf(id, input as LooseInput | undefined)
      const answer = await request(options, { ...wanted, query: { ...wanted.query, dryRun: true } }, callOptions)
      return answer.data as Plan
    },
    request: (wanted, callOptions) => request(options, wanted, callOptions),
    ticketed: (path, signal) => ticketed(options, path, signal),
    followLogs: (id, query, followOptions) => followLogs(options, id, query, followOptions),
    followStats: (id, followOptions) => followStats(options, id, followOptions),
    followEvents: (query, followOptions) => followEvents(options, query, followOptions),
    startRun: (project, what, runOptions) => startRun(options, project, what, runOptions),
    followRun: (project, run, runOptions) => followRun(options, project, run, runOptions),
    followTerminal: (project, term, terminalOptions) => followTerminal(options, project, term, terminalOptions),
    exec: (project, command, execOptions) => exec(options, project, command, execOptions),
  }
}

interface LooseInput {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, QueryValue>>
  readonly body?: unknown
}

function requestOf(id: OperationId, input: LooseInput = {}): Request {
  const route = routes[id]
  return { ...route, path: fillPath(route.path, input.params), query: input.query, body: input.body }
}
