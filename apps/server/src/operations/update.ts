import { planProject, serviceSecret } from '@stackquay/domain'
import type { Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, SnapshotRow } from '@stackquay/store'
import type { Removal } from '../projects/change-project.ts'
import { removalsOf } from '../projects/removals.ts'
import { carryOutActs } from './carry-out-acts.ts'
import type { OperationDeps } from './operation-deps.ts'
import { type Failures, giveUpAfter, stepsOf } from './reconcile-steps.ts'
import { forgetRow } from './take-snapshot.ts'

/** A change that deletes data or rotates credentials: it is never merged with another one. */
export function update(operation: ProjectOperation, deps: OperationDeps): Work {
  const failures: Failures = []
  const { project } = operation
  const removal = operation.input as Partial<Removal>
  const rest = carryOutActs(operation, deps)
  return {
    ...rest,
    // Data goes first: whether the rest of the project can be started must not decide whether it goes.
    stages: [() => removalSteps(project, removal, failures, deps), ...rest.stages],
    settle: async (outcome) => {
      giveUpAfter(outcome, failures, deps)
      await rest.settle(outcome)
    },
  }
}

async function removalSteps(
  project: string,
  removal: Partial<Removal>,
  failures: Failures,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const { deleteData = [] } = removal
  if (deleteData.length === 0) return []
  // Also one that came after this was asked for: it is of no use without the database.
  const snapshots = (await deps.store.snapshots.of(project)).filter(({ data }) => deleteData.includes(data))
  const doomed = [...deleteData, ...snapshots.map(({ id }) => id)]
  const { workloads: wanted, unresolved } = (await deps.model.renew(project)).resolved
  const observed = await deps.observations.refresh(project)
  const { changes } = planProject({ wanted, unresolved, observed, goal: 'stopped' })
  return removalsOf(changes, project, doomed).flatMap((change) => {
    const steps = stepsOf(change, failures, deps)
    if (change.type !== 'deleteData') return steps
    const snapshot = snapshots.find(({ id }) => id === change.data)
    return steps.map((step) =>
      snapshot === undefined
        ? thenForgotten(step, project, change.data, removal, deps)
        : forgottenFirst(step, snapshot, deps),
    )
  })
}

/** What is known of data goes in the same step: whatever becomes of the rest of the operation. */
function thenForgotten(
  step: WorkStep,
  project: string,
  data: string,
  { deleteData = [], deleteSecrets = [], releasePorts = deleteData }: Partial<Removal>,
  { store }: OperationDeps,
): WorkStep {
  const secrets =
    deleteData.length === 1 ? deleteSecrets : deleteSecrets.filter((name) => name.startsWith(serviceSecret(data, '')))
  return {
    ...step,
    run: async (context) => {
      await step.run(context)
      await store.transaction(async (tx) => {
        for (const name of secrets) await tx.secrets.delete(project, name)
        if (releasePorts.includes(data)) await tx.ports.release(project, data)
        await tx.keptData.delete(project, data)
      })
    },
  }
}

/** Data without a row is swept by the next start; a row without data would say that there is a snapshot. */
function forgottenFirst(step: WorkStep, snapshot: SnapshotRow, { store }: OperationDeps): WorkStep {
  return {
    ...step,
    run: async (context) => {
      await store.transaction((tx) => forgetRow(tx, snapshot))
      await step.run(context)
    },
  }
}
