import { setTimeout as sleep } from 'node:timers/promises'
import { ProblemError, type Release } from '@stackquay/contract'
import { hasFallenOver, hookOf, notWell, releaseDifferences } from '@stackquay/domain'
import type { Observed } from '@stackquay/engine-api'
import type { Outcome, StepContext, Work, WorkStep } from '@stackquay/orchestrator'
import type { DeployChange, ProjectOperation, ProjectRow } from '@stackquay/store'
import { type DeployInput, deployInput } from '../deploys/accept-deploy.ts'
import { releaseNow } from '../deploys/release-now.ts'
import { keep, moveTo, pull } from '../git/act-pull.ts'
import type { Acting } from '../git/acting.ts'
import { clearLocks } from '../git/locks.ts'
import { detached, refused, requireClean } from '../git/refusals.ts'
import { changedBetween, headOf, programsChangedBy } from '../git/source-changes.ts'
import { localText } from '../source/local-git.ts'
import { actingOn } from './acting-on.ts'
import { deadlines, findProject, finish, forever, type OperationDeps } from './operation-deps.ts'
import { noteInput } from './paused.ts'
import { type Failures, type Goal, giveUpAfter, reconcileSteps } from './reconcile-steps.ts'
import { hookSteps } from './run-hook.ts'

/**
 * Brings the project to a commit, with all that follows of it: dependencies, the hook `deploy`, restarts; and succeeds only when the project is
 * well. What fails goes back, unless that is switched off. Cut off it begins again.
 */
export function deploy(operation: ProjectOperation, deps: OperationDeps): Work {
  const input = deployInput(operation.input)
  const failures: Failures = []
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      async () => [{ id: 'git', title: titleOf(input), run: (context) => bring(operation, input, context, deps) }],
      () => hookStage(operation, input, deps),
      () => restartStage(operation, input, failures, deps),
    ],
    settle: (outcome) => settle(operation, input, outcome, failures, deps),
  }
}

function titleOf({ to, branch }: DeployInput): string {
  if (to !== null) return `Go back to ${to.slice(0, 10)}`
  return branch === null ? 'Bring what is pushed' : `Bring what is pushed to ${branch}`
}

/** The files. Where the head was is written down before it moves. */
async function bring(operation: ProjectOperation, input: DeployInput, context: StepContext, deps: OperationDeps) {
  const row = await findProject(deps.store, operation.project)
  const acting = await actingOn(row, operation, { name: 'stackquay', email: 'stackquay@localhost' }, context, deps)
  const { repository, signal, say } = acting
  await clearLocks(repository, acting.files, signal, say)
  const { branch } = await requireClean(repository, signal, 'a deploy')
  if (branch === null) throw detached()
  if (input.branch !== null && input.branch !== branch)
    throw refused(
      `The branch ${input.branch} is to be deployed, and ${branch} is checked out.`,
      `Check ${input.branch} out, or let ${branch} be deployed.`,
    )
  const before = await beforeOf(operation, deps, () => headOf(repository, signal))
  await noteDeploy(input, { branch, from: before }, deps)
  if (input.to === null) await pull(input.manner, acting)
  else await goTo(input.to, branch, acting)
  const head = await headOf(repository, signal)
  await noteDeploy(input, { commit: head }, deps)
  if (head === before) say('Nothing is new: nothing else is done.')
  else if (row.desired !== 'running' && hookOf(row.spec, 'deploy') !== null)
    say('The project is stopped: its hook deploy does not run.')
}

async function beforeOf(
  { id }: ProjectOperation,
  deps: OperationDeps,
  look: () => Promise<string | null>,
): Promise<string | null> {
  const noted = deployInput((await deps.store.operations.find(id))?.input ?? {}).before
  if (noted !== undefined) return noted
  const before = await look()
  await noteInput(id, { before }, deps)
  return before
}

/** Back, on the same branch: the next push goes forward from there. What only this side has stays reachable. */
async function goTo(commit: string, branch: string, acting: Acting): Promise<void> {
  const { repository, signal, say } = acting
  const there = await localText(repository, ['rev-parse', '--verify', '--quiet', `${commit}^{commit}`], { signal })
  if (there === null)
    throw refused(`The commit ${commit.slice(0, 10)} is not in the repository any more.`, 'Choose another deploy.')
  const head = await headOf(repository, signal)
  if (head === commit) return say(`The head is at ${commit.slice(0, 10)}.`)
  const alone = await localText(repository, ['rev-list', '--count', 'HEAD', '--not', '--remotes', commit], { signal })
  if (head !== null && alone !== '0') await keep(branch, head, acting)
  await moveTo(head, commit, acting)
}

/** What a stage after the files has to know; null where nothing is new. */
async function newCommit(operation: ProjectOperation, deps: OperationDeps) {
  const row = await findProject(deps.store, operation.project)
  const { before } = deployInput((await deps.store.operations.find(operation.id))?.input ?? {})
  if (row.desired !== 'running' || before === undefined) return null
  const repository = await deps.repositories.open(row, forever)
  const head = await headOf(repository, forever)
  if (head === null || head === before) return null
  return { row, changed: await changedBetween(repository, before, head, forever) }
}

/** Not on the way back: what it did to data for a newer commit is not taken back by doing it again. */
async function hookStage(operation: ProjectOperation, { to }: DeployInput, deps: OperationDeps) {
  const moved = to === null ? await newCommit(operation, deps) : null
  if (moved === null) return []
  await deps.model.renew(operation.project)
  return hookSteps(operation, moved.row, 'deploy', deps)
}

/** Requests wait until the project was seen to be well: what does not work never answers one. */
async function restartStage(
  operation: ProjectOperation,
  input: DeployInput,
  failures: Failures,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const moved = await newCommit(operation, deps)
  if (moved === null) return []
  const { id, project } = operation
  const see = async (context: StepContext) => {
    await beWell(project, context, deps)
    for (const text of await differences(input, () => releaseOrNull(project, deps), deps))
      context.output({ stream: 'stdout', text: `Not as then: ${text}\n` })
    context.output({ stream: 'stdout', text: 'It is well.\n' })
  }
  const gate: WorkStep = { id: 'well', title: 'See that it is well', run: see }
  const names = await programsOf(moved, deps)
  await noteInput(id, { restarted: names }, deps)
  if (names.length === 0) return [gate]
  return restartSteps(project, names, failures, deps, { hooksOf: id, gate })
}

async function programsOf(
  { row, changed }: { readonly row: ProjectRow; readonly changed: readonly string[] },
  deps: OperationDeps,
): Promise<readonly string[]> {
  const known = await deps.model.renew(row.id)
  const observed = await deps.observations.refresh(row.id)
  return programsChangedBy(changed, row, known.resolved, observed).map(({ workload }) => workload)
}

async function restartSteps(
  project: string,
  names: readonly string[],
  failures: Failures,
  deps: OperationDeps,
  more: Pick<Goal, 'hooksOf' | 'gate'> = {},
): Promise<readonly WorkStep[]> {
  if (names.length === 0) return []
  deps.restartHolds.last(project)
  return reconcileSteps(
    project,
    { goal: 'running', restart: true, touched: async () => names, ...more },
    failures,
    deps,
  )
}

/** Well for a moment, without a restart in between: what falls over right after its start is not. */
async function beWell(project: string, { signal }: StepContext, deps: OperationDeps): Promise<void> {
  const { spec } = await findProject(deps.store, project)
  const deadline = performance.now() + Math.max(spec.healthCheck?.timeoutSeconds ?? 0, leastWaitSeconds) * 1000
  let since: { readonly at: number; readonly runs: string } | null = null
  for (;;) {
    const observed = await deps.observations.refresh(project)
    const reason = notWell(observed)
    const now = performance.now()
    const runs = runsOf(observed)
    if (reason !== null) since = null
    else if (since === null || since.runs !== runs) since = { at: now, runs }
    else if (now - since.at >= wellMs) return
    // The moment of being well may begin right before the end.
    if (hasFallenOver(observed) || now > deadline + (reason === null ? 2 * wellMs : 0))
      throw new ProblemError(
        'deploy_unhealthy',
        `The project is not well with the new commit: ${reason ?? restarting}`,
        {
          hint: 'Its logs say more. Mend it and push again.',
        },
      )
    await sleep(lookEveryMs, undefined, { signal })
  }
}

/** Of a way back: what is not as it was with that release. That it cannot be told fails nothing. */
async function differences(
  { of }: DeployInput,
  now: () => Promise<Release | null>,
  { store }: OperationDeps,
): Promise<readonly string[]> {
  const then = of == null ? null : ((await store.deploys.find(of))?.release ?? null)
  const known = then === null ? null : await now()
  return then === null || known === null ? [] : releaseDifferences(then, known)
}

/** Null where it cannot be told. */
async function releaseOrNull(project: string, deps: OperationDeps): Promise<Release | null> {
  return findProject(deps.store, project)
    .then((row) => releaseNow(row, deps))
    .catch(() => null)
}

const runsOf = (observed: readonly Observed[]) =>
  observed.map(({ ref, pid, since }) => `${ref.workload} ${pid} ${since}`).join('\n')
const restarting = 'its programs end and start again.'
const leastWaitSeconds = 20
const wellMs = 2000
const lookEveryMs = 250

async function settle(
  operation: ProjectOperation,
  input: DeployInput,
  outcome: Outcome,
  failures: Failures,
  deps: OperationDeps,
): Promise<void> {
  const { store, restartHolds } = deps
  const row = await store.projects.find(operation.project)
  if (row === null || row.phase === 'deleting') return restartHolds.release(operation.project)
  const isBack = outcome.state === 'succeeded' || !input.rollback ? 'no' : await goBack(operation, row, input, deps)
  await restartHolds.release(row.id)
  if (isBack !== 'yes') giveUpAfter(outcome, failures, deps)
  await finish(row.id, deps)
  // Without it the deploy stands all the same.
  const release = outcome.state === 'succeeded' ? await releaseOrNull(row.id, deps) : null
  await noteDeploy(
    input,
    {
      state: outcome.state,
      reason: await reasonOf(input, outcome, isBack, release, deps),
      rolledBack: isBack === 'yes',
      finishedAt: deps.now().toISOString(),
      release,
    },
    deps,
  )
}

/** Nobody reads what its steps print: whether it is back is told with the deploy. */
async function goBack(
  operation: ProjectOperation,
  row: ProjectRow,
  input: DeployInput,
  deps: OperationDeps,
): Promise<'yes' | 'no' | 'failed'> {
  const { before, restarted = [] } = deployInput((await deps.store.operations.find(operation.id))?.input ?? {})
  if (before == null || input.to !== null) return 'no'
  const context: StepContext = { signal: forever, output: () => undefined }
  try {
    const acting = await actingOn(row, operation, { name: 'stackquay', email: 'stackquay@localhost' }, context, deps)
    const head = await headOf(acting.repository, forever)
    if (head === null || head === before) return 'no'
    const changed = await changedBetween(acting.repository, head, before, forever)
    const { branch } = await requireClean(acting.repository, forever, 'the way back')
    if (branch === null) throw detached()
    await goTo(before, branch, acting)
    if (row.desired !== 'running') return 'yes'
    // What failed with the new files may be down.
    const names = [...new Set([...restarted, ...(await programsOf({ row, changed }, deps))])]
    for (const step of await restartSteps(row.id, names, [], deps)) await step.run(context)
    return 'yes'
  } catch {
    return 'failed'
  }
}

async function reasonOf(
  input: DeployInput,
  outcome: Outcome,
  isBack: 'yes' | 'no' | 'failed',
  release: Release | null,
  deps: OperationDeps,
): Promise<string | null> {
  const now = await deps.store.deploys.find(input.deploy)
  if (outcome.state === 'succeeded') {
    const isNew = now?.from !== now?.commit
    const others = await differences(input, async () => release, deps)
    if (isNew && others.length === 0) return null
    const told = others.length === 0 ? [] : [`Not as with ${input.of}:`, ...others]
    return [...(isNew ? [] : ['Nothing was new.']), ...told].join(' ').slice(0, 2000)
  }
  const error = outcome.state === 'failed' ? outcome.error : null
  const why =
    outcome.state === 'cancelled' ? 'It was cancelled.' : error instanceof Error ? error.message : String(error)
  const back = {
    yes: ` It is back at ${now?.from?.slice(0, 10)}.`,
    no: '',
    failed: ' It could not be brought back: look at its files.',
  }[isBack]
  return `${why}${back}`.slice(0, 2000)
}

async function noteDeploy({ deploy: id }: DeployInput, change: DeployChange, { store }: OperationDeps): Promise<void> {
  await store.transaction((tx) => tx.deploys.update(id, change))
}
