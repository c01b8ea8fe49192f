import { setTimeout as sleep } from 'node:timers/promises'
import type { ActionDefinition, SuiteDefinition } from '@stackquay/catalog'
import { type Problem, ProblemError } from '@stackquay/contract'
import type { NamedEnvironment, ProjectCommands } from '@stackquay/domain'
import type { CommandRef, CommandState, Container, Engine, Job, SecretRef, Value } from '@stackquay/engine-api'
import type { Accounts, UserFiles } from '@stackquay/engines'
import { DeadlineError } from '@stackquay/orchestrator'
import type { ProjectRow, RunChange, RunRow, Store, TestCaseRow } from '@stackquay/store'
import { aborted } from '../aborted.ts'
import { problemOfFailure } from '../projects/progress-log.ts'
import type { Resolver } from '../projects/resolver.ts'
import type { Workers } from '../workers/workers.ts'
import { readResults } from './read-results.ts'
import { mostResultBytes, type ResultsFolders, unreadable } from './results-folder.ts'
import { interrupted, outcomeOf, type ReadResults, type RunOutcome, runError, withoutCommand } from './run-outcome.ts'
import { planOf, type RunPlan } from './run-plan.ts'
import { sourceIdOf } from './source-id.ts'
import { casesOf, countsOf } from './test-cases.ts'
import type { TestEnvironment, TestEnvironments } from './test-environments.ts'

export interface CarryOutDeps {
  readonly store: Pick<Store, 'projects' | 'runs'>
  readonly engine: Engine
  readonly resolver: Pick<Resolver, 'commands'>
  readonly accounts: Accounts
  readonly files: UserFiles
  readonly testEnvironments: TestEnvironments
  readonly workers: Pick<Workers, 'run'>
  readonly results: ResultsFolders
  readonly maxMinutes: number
  reveal(ref: SecretRef): Promise<string>
  /** Leases, secrets and folders that the project's environment names. */
  provision(project: string, signal: AbortSignal): Promise<unknown>
  /** Runs work in which nothing else changes the project. */
  exclusively<T>(project: string, work: () => Promise<T>): Promise<T>
  onError(error: unknown, what: string): void
}

export interface RunProgress {
  /** Aborts when somebody cancels the run. */
  readonly cancel: AbortSignal
  /** Aborts when the service ends: everything stays as it is, and is taken up by the next start. */
  readonly life: AbortSignal
  /** Writes down and tells. */
  write(change: Omit<RunChange, 'plan'> & { readonly plan?: Partial<RunPlan> }): Promise<RunRow>
  /** The command runs now: there is output to follow. */
  started(): void
}

export interface CarriedOut {
  readonly outcome: RunOutcome
  /** Of a test run whose results could be read. */
  readonly cases: readonly Omit<TestCaseRow, 'position'>[] | null
}

/** A service that ends this often while it prepares a run is ended by that, as far as anybody can tell. */
const maxAttempts = 3

/**
 * Carries a run out from wherever it is: prepares it, starts its command, follows that to its end, reads its results. Begun
 * again after a crash it prepares anew unless there is a command, and never starts a second one. Throws only when the service
 * is ending.
 */
export async function carryOut(row: RunRow, progress: RunProgress, deps: CarryOutDeps): Promise<CarriedOut> {
  const { engine, testEnvironments } = deps
  const ref: CommandRef = { project: row.project, id: row.id }
  let data: TestEnvironment | null = null
  try {
    if (!(await isHeld(row, ref, engine))) {
      const stopped = AbortSignal.any([progress.cancel, progress.life])
      const deadline = startDeadline(deps.maxMinutes)
      try {
        data = await prepareAndStart(row, ref, AbortSignal.any([stopped, deadline.signal]), progress, deps)
      } catch (error) {
        progress.life.throwIfAborted()
        await endForGood(engine, ref, progress.life)
        return failedBefore(deadline.signal.aborted ? deadline.signal.reason : error, progress.cancel, deps)
      } finally {
        deadline.clear()
      }
    }
    progress.started()
    const command = await followToEnd(engine, ref, progress, deps.onError)
    if (command === null) {
      const outcome = progress.cancel.aborted
        ? withoutCommand('cancelled', null)
        : withoutCommand('failed', interrupted('Nobody knows of its command any more.'))
      return { outcome, cases: null }
    }
    return await concluded(row.id, ref, command, progress, deps)
  } finally {
    // When only the service ends, the command goes on and needs its data.
    if (row.kind === 'test' && !progress.life.aborted) {
      await (data === null ? testEnvironments.closeLeft(row.id) : data.close()).catch((error: unknown) =>
        deps.onError(error, `deleting the data of the test run ${row.id}`),
      )
    }
  }
}

/**
 * Whether the engine has its command, running or ended. A start that was cut off leaves none, and starting what was started
 * already changes nothing: so a run that was about to begin may begin again.
 */
async function isHeld(row: RunRow, ref: CommandRef, { commands }: Engine): Promise<boolean> {
  return planOf(row).begun && (await commands.find(ref)) !== null
}

/** Answers the data that the command uses, when it has its own. */
async function prepareAndStart(
  row: RunRow,
  ref: CommandRef,
  signal: AbortSignal,
  progress: RunProgress,
  deps: CarryOutDeps,
): Promise<TestEnvironment | null> {
  const { attempts } = planOf(row)
  if (attempts >= maxAttempts)
    throw new ProblemError('interrupted', `The service was ended ${attempts} times while it prepared this.`)
  signal.throwIfAborted()
  await progress.write({ state: 'running', phase: 'Prepare', plan: { attempts: attempts + 1 } })
  if (attempts > 0 && row.kind === 'test') await deps.testEnvironments.closeLeft(row.id)
  const project = await deps.store.projects.find(row.project)
  if (project === null || project.phase !== 'ready')
    throw new ProblemError('aborted', 'The project is being created or deleted.')
  await deps.provision(project.id, signal)
  const commands = await deps.resolver.commands(project)
  const draft = wantedOf(row, commands)
  const environment = environmentOf(row, commands)
  refuseReason(draft.reason ?? environment.reason)
  if (draft.needsSetup) await install(environment, project, signal, progress, deps)

  let data: TestEnvironment | null = null
  try {
    if (row.kind === 'test') {
      data = await deps.testEnvironments.open({
        run: row.id,
        project,
        signal,
        // Told in passing: a phase that is not told is no reason to fail.
        onPhase: (title) => void progress.write({ phase: title }).catch(() => undefined),
      })
    }
    await startCommand(row, ref, project, data, { commands, signal, progress, deps })
    return data
  } catch (error) {
    if (!progress.life.aborted)
      await data?.close().catch((failure: unknown) => deps.onError(failure, `deleting the data of ${row.id}`))
    throw error
  }
}

async function startCommand(
  row: RunRow,
  ref: CommandRef,
  project: ProjectRow,
  data: TestEnvironment | null,
  how: {
    readonly commands: ProjectCommands
    readonly signal: AbortSignal
    readonly progress: RunProgress
    readonly deps: CarryOutDeps
  },
): Promise<void> {
  const { signal, progress, deps } = how
  const commands = data?.commands ?? how.commands
  const environment = environmentOf(row, commands)
  const wanted = wantedOf(row, commands)
  refuseReason(wanted.reason ?? environment.reason)
  let plan: Partial<RunPlan> = { begun: true, cwd: environment.cwd }
  let program: { argv: readonly [string, ...string[]]; env?: Readonly<Record<string, Value>>; cwd?: string }
  let source: string | null = null
  if ('command' in wanted) {
    const command = wanted.command({ filter: row.filter, results: deps.results.pathOf(row.id) })
    const account = await deps.accounts.of(project.id)
    await deps.results.make(row.id, account, command.files ?? {})
    source = await sourceIdOf(project.path, signal, { account, files: deps.files.of(account) })
    plan = { ...plan, cwd: command.cwd ?? environment.cwd, results: command.results }
    program = command
  } else program = wanted
  signal.throwIfAborted()
  await progress.write({
    state: 'running',
    phase: null,
    source,
    startedAt: new Date().toISOString(),
    plan,
  })
  await deps.engine.commands.start(
    {
      ref,
      argv: program.argv,
      cwd: program.cwd ?? environment.cwd,
      env: { ...environment.env, ...program.env },
      data: [],
      ...(environment.container === undefined
        ? {}
        : { container: withFolder(environment.container, deps.results.pathOf(row.id)) }),
      ...(environment.limits === undefined ? {} : { limits: environment.limits }),
      terminal: null,
      timeoutSeconds: deps.maxMinutes * 60,
      idleSeconds: null,
      stop: { signal: 'SIGTERM', deadlineSeconds: 10 },
      keepBytes,
    },
    { signal, reveal: data === null ? deps.reveal : (secret) => data.reveal(secret) },
  )
}

const keepBytes = 64 << 20

/** Runners write their results there, and nowhere else. */
function withFolder(container: Container, path: string): Container {
  return { ...container, folders: [...container.folders, { path, readOnly: false }] }
}

/** In the project's queue: two installations into one folder would spoil each other. */
async function install(
  { name, setup }: NamedEnvironment,
  project: ProjectRow,
  signal: AbortSignal,
  progress: RunProgress,
  deps: CarryOutDeps,
): Promise<void> {
  if (setup.length === 0) return
  const { engine } = deps
  const work = async () => {
    for (const job of setup) {
      signal.throwIfAborted()
      await progress.write({ phase: job.title })
      await applyJob(engine, { project: project.id, workload: name }, job, { signal, reveal: deps.reveal })
    }
  }
  await orAborted(deps.exclusively(project.id, work), signal)
}

async function applyJob(
  engine: Engine,
  ref: { readonly project: string; readonly workload: string },
  job: Job,
  context: { readonly signal: AbortSignal; reveal(ref: SecretRef): Promise<string> },
): Promise<void> {
  for (const step of engine.plan({ type: 'job', ref, job, force: false }))
    await engine.apply(step, { ...context, output: () => undefined })
}

/** Waits for the end of a command, ends it when that is asked for. Null when nobody knows of it. */
async function followToEnd(
  { commands }: Engine,
  ref: CommandRef,
  { cancel, life }: RunProgress,
  onError: CarryOutDeps['onError'],
): Promise<CommandState | null> {
  const over = new AbortController()
  const gone = AbortSignal.any([life, over.signal])
  const end = async () => {
    await aborted(AbortSignal.any([cancel, gone]))
    while (!gone.aborted) {
      try {
        return await commands.end(ref, gone)
      } catch (error) {
        if (gone.aborted) return
        onError(error, `ending the run ${ref.id}`)
        await sleep(endAgainMs, undefined, { signal: gone }).catch(() => undefined)
      }
    }
  }
  void end()
  try {
    for (let pause = shortestPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      life.throwIfAborted()
      const state = await commands.find(ref)
      if (state === null || state.state === 'ended') return state
      const began = performance.now()
      await glance(commands, ref, state.output.end, life)
      if (performance.now() - began > longestPauseMs) pause = shortestPauseMs
      // One that prints all the time is looked at less often: every look costs a search for the position.
      await sleep(pause, undefined, { signal: life })
    }
  } finally {
    over.abort()
  }
}

const endAgainMs = 2_000

/** Until it prints something or ends. Whether it goes on is all that is asked here: what it prints next is passed over. */
async function glance(commands: Engine['commands'], ref: CommandRef, after: number, life: AbortSignal): Promise<void> {
  const enough = new AbortController()
  const signal = AbortSignal.any([enough.signal, life])
  const output = commands.read(ref, { after, follow: true }, signal)[Symbol.asyncIterator]()
  try {
    await output.next()
  } finally {
    enough.abort()
    await output.return?.()
  }
}

const shortestPauseMs = 25
const longestPauseMs = 400

async function concluded(
  id: string,
  ref: CommandRef,
  command: CommandState,
  progress: RunProgress,
  deps: CarryOutDeps,
): Promise<CarriedOut> {
  const row = await deps.store.runs.find(id)
  const plan = row === null ? null : planOf(row)
  // A cancelled run says nothing about its tests: what it did not get to would look as if it were gone.
  if (row === null || plan === null || plan.results === null || command.cause === 'cancelled')
    return { outcome: outcomeOf(command, null, deps.maxMinutes), cases: null }
  await progress.write({ phase: 'Read the results' })
  let cases: CarriedOut['cases'] = null
  let read: ReadResults
  try {
    cases = await readCases(row, ref, plan, progress.life, deps)
    read = { counts: countsOf(cases), problem: null }
  } catch (error) {
    progress.life.throwIfAborted()
    read = { counts: null, problem: runError(problemOfFailure(error)) }
  }
  return { outcome: outcomeOf(command, read, deps.maxMinutes), cases }
}

async function readCases(row: RunRow, ref: CommandRef, plan: RunPlan, signal: AbortSignal, deps: CarryOutDeps) {
  const { format, file } = plan.results!
  const account = await deps.accounts.of(row.project)
  const text = file === null ? await printed(deps.engine, ref, signal) : await deps.results.read(row.id, account, file)
  const { cases } = await readResults(deps.workers, format, text, signal)
  const project = await deps.store.projects.find(row.project)
  const path = project?.path ?? plan.cwd ?? '/'
  const real = await deps.files
    .of(account)
    .folder(path, { signal })
    .catch(() => null)
  const before = row.source === null ? [] : await deps.store.runs.outcomesOn(row.project, row.name, row.source)
  return casesOf({
    cases,
    cwd: plan.cwd ?? path,
    folders: [path, real?.real ?? path],
    before,
  })
}

/** What it wrote to its standard output, as far as that is kept. */
async function printed({ commands }: Engine, ref: CommandRef, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const batch of commands.read(ref, { after: 0, follow: false }, signal)) {
    for (const chunk of batch) {
      if (chunk.stream !== 'stdout') continue
      bytes += chunk.bytes.length
      if (bytes > mostResultBytes) throw unreadable('they are larger than 64 MB')
      chunks.push(chunk.bytes)
    }
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** A start that was cut off may have succeeded all the same: nothing of it may be left. */
async function endForGood({ commands }: Engine, ref: CommandRef, signal: AbortSignal): Promise<void> {
  if ((await commands.find(ref)) !== null) await commands.end(ref, signal)
}

function failedBefore(error: unknown, cancel: AbortSignal, deps: CarryOutDeps): CarriedOut {
  if (cancel.aborted) return { outcome: withoutCommand('cancelled', null), cases: null }
  const problem: Problem = problemOfFailure(error)
  if (problem.code === 'internal_error') deps.onError(error, 'preparing a run')
  return { outcome: withoutCommand('failed', runError(problem)), cases: null }
}

function wantedOf(row: RunRow, { actions, suites }: ProjectCommands): ActionDefinition | SuiteDefinition {
  const found = (row.kind === 'action' ? actions : suites).find(({ id }) => id === row.name)
  if (found === undefined) throw new ProblemError('not_found', `The source has no "${row.name}" any more.`)
  return found
}

function environmentOf({ runtime }: RunRow, { environments }: ProjectCommands): NamedEnvironment {
  const found = environments.find(({ name }) => name === runtime) ?? environments[0]
  if (found === undefined) throw new ProblemError('unavailable_here', 'There is nothing that it could run in.')
  return found
}

function refuseReason(reason: string | null): void {
  if (reason !== null) throw new ProblemError('unavailable_here', reason)
}

function startDeadline(minutes: number): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const error = new DeadlineError(`Its preparation took longer than ${minutes} minutes.`)
  const timer = setTimeout(() => controller.abort(error), minutes * 60_000).unref()
  return { signal: controller.signal, clear: () => clearTimeout(timer) }
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // What is still waiting for the queue finds the signal aborted when its turn comes; what runs ends by it.
  work.catch(() => undefined)
  return Promise.race([
    work,
    aborted(signal).then((): never => {
      throw signal.reason
    }),
  ])
}
