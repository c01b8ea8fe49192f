import type { Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation } from '@stackquay/store'
import type { GitAct, Person } from '../git/acting.ts'
import { perform } from '../git/acts.ts'
import { changedBetween, headOf, programsChangedBy } from '../git/source-changes.ts'
import { actingOn } from './acting-on.ts'
import { deadlines, findProject, finish, forever, type OperationDeps } from './operation-deps.ts'
import { type Failures, giveUpAfter, reconcileSteps } from './reconcile-steps.ts'

export interface GitInput {
  readonly git: GitAct
  readonly by: Person
  /** Where the head was when it began; null: nowhere. Written down, for after a crash it is elsewhere. */
  readonly before?: string | null
}

/** Something that is done to the repository of a project, and what follows of it for its programs. What was cut off is begun again. */
export function git(operation: ProjectOperation, deps: OperationDeps): Work {
  const { git: act } = operation.input as unknown as GitInput
  const failures: Failures = []
  const theAct = async (): Promise<readonly WorkStep[]> => [
    { id: 'git', title: titleOf(act), run: (context) => carryOut(operation, context, deps) },
  ]
  return {
    deadlineSeconds: deadlines.day,
    stages: movesHead(act) ? [theAct, () => restartChanged(operation.id, operation.project, failures, deps)] : [theAct],
    settle: async (outcome) => {
      await deps.restartHolds.release(operation.project)
      giveUpAfter(outcome, failures, deps)
      const row = await deps.store.projects.find(operation.project)
      if (row !== null && row.phase !== 'deleting')
        await finish(operation.project, deps, { asKnown: !changesFiles(act) })
    },
  }
}

async function carryOut(
  operation: ProjectOperation,
  context: Parameters<WorkStep['run']>[0],
  deps: OperationDeps,
): Promise<void> {
  const input = operation.input as unknown as GitInput
  const row = await findProject(deps.store, operation.project)
  const acting = await actingOn(row, operation, input.by, context, deps)
  if (movesHead(input.git) && input.before === undefined) {
    const before = await headOf(acting.repository, acting.signal)
    await deps.store.transaction((tx) => tx.operations.update(operation.id, { input: { ...operation.input, before } }))
  }
  await perform(input.git, acting)
}

/** What runs over files that are others now starts again; what it needs is installed first, where that changed. */
async function restartChanged(
  id: string,
  project: string,
  failures: Failures,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const row = await findProject(deps.store, project)
  const { before } = ((await deps.store.operations.find(id))?.input ?? {}) as Partial<GitInput>
  if (row.desired !== 'running' || before === undefined) return []
  const repository = await deps.repositories.open(row, forever)
  const head = await headOf(repository, forever)
  if (head === null || head === before) return []
  const changed = await changedBetween(repository, before, head, forever)
  const known = await deps.model.renew(project)
  const observed = await deps.observations.refresh(project)
  const names = programsChangedBy(changed, row, known.resolved, observed).map(({ workload }) => workload)
  if (names.length === 0) return []
  return reconcileSteps(
    project,
    { goal: 'running', restart: true, touched: async () => names, hooksOf: id },
    failures,
    deps,
  )
}

const movesHead = ({ act }: GitAct) => act === 'pull' || act === 'checkout'
const changesFiles = (act: GitAct) => movesHead(act) || act.act === 'discard'

function titleOf(act: GitAct): string {
  switch (act.act) {
    case 'fetch':
      return 'Fetch from the other side'
    case 'pull':
      return 'Pull from the other side'
    case 'checkout':
      return `Check ${act.branch} out`
    case 'commit':
      return 'Commit'
    case 'push':
      return act.branch === null ? 'Push the branch' : `Push ${act.branch}`
    case 'discard':
      return 'Discard changes'
    default:
      return act satisfies never
  }
}
