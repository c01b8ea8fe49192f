import { type HookName, hookNames, ProblemError } from '@stackquay/contract'
import { type HookCommand, hookOf, hookTitle, type NamedEnvironment } from '@stackquay/domain'
import type { CommandOutput, CommandRef, CommandState, Exit } from '@stackquay/engine-api'
import { CancelledError, DeadlineError, type StepContext, type WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { hookCommand } from '../runs/hook-command.ts'
import { environmentFor } from '../terminals/environment.ts'
import { withProgram } from '../terminals/program.ts'
import { forever, type OperationDeps } from './operation-deps.ts'

type HookDeps = Pick<
  OperationDeps,
  'store' | 'engine' | 'resolver' | 'provision' | 'filesOf' | 'reveal' | 'observations'
>
type OfProject = Pick<ProjectOperation, 'id' | 'project'>

/** The step that runs a hook of the project; none where it has no such hook. */
export function hookSteps(
  operation: OfProject,
  row: Pick<ProjectRow, 'spec'>,
  name: HookName,
  deps: HookDeps,
): readonly WorkStep[] {
  const hook = hookOf(row.spec, name)
  if (hook === null) return []
  return [{ id: `hook:${name}`, title: hookTitle(hook), run: (context) => runHook(operation, hook, context, deps) }]
}

/**
 * As the project’s user, in the environment of its runtime, as a command that a shim holds: ended with the operation, at its time
 * limit, and gone on with when the service was away meanwhile. So it runs once for each operation, whatever is killed.
 */
async function runHook(operation: OfProject, hook: HookCommand, context: StepContext, deps: HookDeps): Promise<void> {
  const { commands } = deps.engine
  const ref = refOf(operation, hook.name)
  const before = await commands.find(ref)
  if (before === null || isCutOff(before)) {
    if (before !== null) await commands.remove(ref)
    await start(ref, hook, context, deps)
  }
  const { signal } = context
  let state: CommandState | null
  try {
    for await (const batch of commands.read(ref, { after: 0, follow: true }, signal)) tell(batch, context)
    signal.throwIfAborted()
    state = await commands.find(ref)
  } catch (error) {
    // When only the service ends, the command goes on; the next start takes it up.
    if (signal.aborted && isForGood(signal.reason)) await commands.end(ref, forever)
    throw signal.aborted ? signal.reason : error
  }
  const reason = whyFailed(hook, state)
  if (reason === null) return
  throw new ProblemError('hook_failed', `The hook ${hook.name} ${reason}`, {
    hint: 'Its output is with the step. Mend the command, or what it needs, then do it again.',
    extensions: { hook: hook.name, exitCode: state?.exit?.code ?? null },
  })
}

async function start(ref: CommandRef, hook: HookCommand, { signal }: StepContext, deps: HookDeps): Promise<void> {
  const { store, engine, resolver, provision, filesOf, reveal } = deps
  const row = await store.projects.find(ref.project)
  if (row === null) throw new ProblemError('not_found', 'The project is gone.')
  await provision(row.id, signal)
  const environment = await environmentOf(hook, () => resolver.commands(row))
  await install(row.id, environment, signal, deps)
  const argv = await withProgram(hook.argv, environment, () => filesOf(row)).catch((error: unknown) => {
    throw asHookProblem(hook, error)
  })
  await engine.commands.start(
    {
      ref,
      argv,
      cwd: environment.cwd,
      env: { ...environment.env, STACKQUAY_HOOK: hook.name },
      data: [],
      ...(environment.container === undefined ? {} : { container: environment.container }),
      ...(environment.limits === undefined ? {} : { limits: environment.limits }),
      terminal: null,
      timeoutSeconds: hook.timeoutSeconds,
      idleSeconds: null,
      stop: { signal: 'SIGTERM', deadlineSeconds: 10 },
      keepBytes,
    },
    { signal, reveal },
  )
}

const keepBytes = 4 << 20

async function environmentOf(
  hook: HookCommand,
  commands: () => ReturnType<HookDeps['resolver']['commands']>,
): Promise<NamedEnvironment> {
  try {
    return environmentFor((await commands()).environments, hook.runtime)
  } catch (error) {
    throw asHookProblem(hook, error)
  }
}

/** What the hook’s program needs is there first, as for an action: dependencies that a new commit brings. */
async function install(
  project: string,
  { name, setup }: NamedEnvironment,
  signal: AbortSignal,
  { engine, reveal }: HookDeps,
): Promise<void> {
  const context = { signal, reveal, output: () => undefined }
  for (const job of setup)
    for (const step of engine.plan({ type: 'job', ref: { project, workload: name }, job, force: false }))
      await engine.apply(step, context)
}

function asHookProblem({ name }: HookCommand, error: unknown): unknown {
  if (!(error instanceof ProblemError)) return error
  return new ProblemError('hook_failed', `The hook ${name} cannot run: ${error.message}`, {
    cause: error,
    extensions: { hook: name },
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  })
}

function tell(batch: readonly CommandOutput[], { output }: StepContext): void {
  for (const { stream, bytes } of batch)
    output({ stream: stream === 'stderr' ? 'stderr' : 'stdout', text: bytes.toString('utf8') })
}

/** Cancelled with an operation of which it was a part before, or lost with the machine: then it is begun anew. */
function isCutOff({ state, cause }: CommandState): boolean {
  return state === 'ended' && (cause === 'cancelled' || cause === 'lost')
}

function isForGood(reason: unknown): boolean {
  return reason instanceof CancelledError || reason instanceof DeadlineError
}

function whyFailed({ timeoutSeconds }: HookCommand, state: CommandState | null): string | null {
  if (state === null || state.exit === null || state.cause === 'lost') return 'was lost: nobody knows how it ended.'
  if (state.cause === 'timeout') return `took longer than its ${timeoutSeconds} seconds, and was ended.`
  return endText(state.exit)
}

function endText({ code, signal }: Pick<Exit, 'code' | 'signal'>): string | null {
  if (code === 0) return null
  return signal === null ? `ended with exit code ${code}.` : `was ended by ${signal}.`
}

const refOf = (operation: OfProject, name: HookName) => hookCommand(operation, hookNames.indexOf(name))

/** Once an operation has ended nothing of its hooks is held. Their output is with its steps. */
export async function forgetHooks(operation: OfProject, { engine }: Pick<OperationDeps, 'engine'>): Promise<void> {
  for (const name of hookNames) {
    const ref = refOf(operation, name)
    if ((await engine.commands.find(ref)) === null) continue
    await engine.commands.end(ref, forever)
    await engine.commands.remove(ref)
  }
}
