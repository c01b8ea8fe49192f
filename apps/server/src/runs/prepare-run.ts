import type { ActionDefinition, SuiteDefinition } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import type { FoundCron, NamedEnvironment, ProjectCommands } from '@stackquay/domain'
import type { CommandRef, Container, Engine, Job, SecretRef, Value } from '@stackquay/engine-api'
import type { ProjectRow, RunRow } from '@stackquay/store'
import { aborted } from '../aborted.ts'
import type { CarryOutDeps, RunProgress } from './carry-out.ts'
import { planOf, type RunPlan } from './run-plan.ts'
import { sourceIdOf } from './source-id.ts'
import type { TestEnvironment } from './test-environments.ts'

/** A service that ends this often while it prepares a run is ended by that, as far as anybody can tell. */
const maxAttempts = 3

/** Answers the data that the command uses, when it has its own. */
export async function prepareAndStart(
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
  const wanted = wantedOf(row, commands)
  const environment = environmentOf(row, commands)
  refuseReason(wanted.reason ?? environment.reason)
  if (wanted.needsSetup) await install(environment, project, signal, progress, deps)

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
        : { container: withResults(environment.container, plan.results == null ? null : deps.results.pathOf(row.id)) }),
      ...(environment.limits === undefined ? {} : { limits: environment.limits }),
      terminal: null,
      timeoutSeconds: planOf(row).limitSeconds ?? deps.maxMinutes() * 60,
      idleSeconds: null,
      stop: { signal: 'SIGTERM', deadlineSeconds: 10 },
      keepBytes,
    },
    { signal, reveal: data === null ? deps.reveal : (secret) => data.reveal(secret) },
  )
}

const keepBytes = 64 << 20

/** Runners write their results there, and nowhere else. What writes none has no folder for them. */
function withResults(container: Container, path: string | null): Container {
  if (path === null) return container
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

function wantedOf(
  row: RunRow,
  { actions, suites, cron }: ProjectCommands,
): ActionDefinition | SuiteDefinition | FoundCron {
  const found = { action: actions, test: suites, cron }[row.kind].find(({ id }) => id === row.name)
  if (found === undefined)
    throw new ProblemError(
      'not_found',
      `The ${row.kind === 'cron' ? 'project' : 'source'} has no "${row.name}" any more.`,
    )
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
