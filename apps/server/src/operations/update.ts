import { planProject, serviceSecret } from '@stackquay/domain'
import type { Work, WorkStep } from '@stackquay/orchestrator'
import type { ArchiveRow, ProjectOperation, SnapshotRow } from '@stackquay/store'
import type { Removal } from '../projects/removal.ts'
import { removalsOf } from '../projects/removals.ts'
import { forgetRow, secretsOfSnapshot } from '../snapshots/forget-row.ts'
import { asideStep, itemOf, kindOfData } from '../trash/set-aside.ts'
import { finishRemoval } from '../trash/settle-items.ts'
import { trashEvent } from '../trash/trash-view.ts'
import { carryOutActs } from './carry-out-acts.ts'
import { findProject, type OperationDeps } from './operation-deps.ts'
import { type Failures, giveUpAfter, stepsOf } from './reconcile-steps.ts'

/** A change that deletes data or rotates credentials: it is never merged with another one. */
export function update(operation: ProjectOperation, deps: OperationDeps): Work {
  const failures: Failures = []
  const removal = operation.input as Partial<Removal>
  const rest = carryOutActs(operation, deps)
  return {
    ...rest,
    // Data goes first: whether the rest of the project can be started must not decide whether it goes.
    stages: [() => removalSteps(operation, removal, failures, deps), ...rest.stages],
    settle: async (outcome) => {
      giveUpAfter(outcome, failures, deps)
      await settleMoving(operation, deps)
      await rest.settle(outcome)
    },
  }
}

async function removalSteps(
  operation: ProjectOperation,
  removal: Partial<Removal>,
  failures: Failures,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const { project } = operation
  const { deleteData = [] } = removal
  if (deleteData.length === 0) return []
  // Also one that came after this was asked for: it is of no use without the database.
  const snapshots = (await deps.store.snapshots.of(project)).filter(({ data }) => deleteData.includes(data))
  const archives = (await deps.store.archives.of(project)).filter(({ data }) => deleteData.includes(data))
  const copies = [...snapshots, ...archives]
  // Past the trash. Otherwise they go there with their data.
  const alone = removal.purge === true ? copies.map(({ id }) => id) : []
  const doomed = [...deleteData, ...alone]
  const { workloads: wanted, unresolved } = (await deps.model.renew(project)).resolved
  const observed = await deps.observations.refresh(project)
  const { changes } = planProject({ wanted, unresolved, observed, goal: 'stopped' })
  const steps: WorkStep[] = []
  for (const change of removalsOf(changes, project, doomed, snapshots)) {
    const snapshot = change.type === 'deleteData' ? snapshots.find(({ id }) => id === change.data) : undefined
    const archive = change.type === 'deleteData' ? archives.find(({ id }) => id === change.data) : undefined
    if (change.type !== 'deleteData') steps.push(...stepsOf(change, failures, deps))
    else if (snapshot !== undefined || archive !== undefined)
      steps.push(...stepsOf(change, failures, deps).map((step) => forgottenFirst(step, { snapshot, archive }, deps)))
    else if (removal.purge !== true)
      steps.push(...(await trashSteps(operation, { data: change.data, snapshots, archives, removal }, deps)))
    else
      for (const step of stepsOf(change, failures, deps))
        steps.push(thenForgotten(step, project, change.data, removal, deps))
  }
  return steps
}

interface Trashed {
  readonly data: string
  readonly removal: Partial<Removal>
  /** Of all data that goes. */
  readonly snapshots: readonly SnapshotRow[]
  readonly archives: readonly ArchiveRow[]
}

/** With its snapshots and archives. None where an earlier attempt did it: data that came since is not what was to be removed. */
async function trashSteps(
  operation: ProjectOperation,
  { data, removal, ...copies }: Trashed,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const { project } = operation
  const { store, engine, observations } = deps
  const row = await findProject(store, project)
  const { database } = removal
  const isDatabase = database?.data === data
  const doomed = isDatabase ? { name: database.name, database: database.settings } : { name: data }
  const kind = isDatabase ? ('database' as const) : kindOfData(data)
  const there = await engine.dataNames(project, AbortSignal.timeout(lookMs))
  const snapshots = copies.snapshots.filter((one) => one.data === data && there.includes(one.id))
  const archives = copies.archives.filter((one) => one.data === data && there.includes(one.id))
  const names = [data, ...[...snapshots, ...archives].map(({ id }) => id)]
  const secrets = [...secretsOf(data, removal), ...snapshots.flatMap(secretsOfSnapshot)]
  const item = await itemOf(operation, row, { ...doomed, kind, data: names, secrets }, deps)
  if (item.state !== 'moving') return []
  const take: WorkStep['run'] = async ({ signal }) => {
    observations.outdate(project)
    const asides = await engine.asides(project, signal)
    const isAside = asides.some(({ name, key }) => name === data && key === item.id)
    // There was none: copies of nothing are of no use to anybody, and nothing lies there that could come back.
    if (!isAside) for (const { name } of item.data) await engine.removeAside(project, { name, key: item.id }, signal)
    await store.transaction(async (tx) => {
      await tx.trash.takeData(item.id)
      if (!isAside) await tx.trash.delete(item.id)
      if ((removal.releasePorts ?? [data]).includes(data)) await tx.ports.release(project, data)
      await tx.events.append(trashEvent(item, 'deleted'))
    })
  }
  const steps = item.data.map(({ name }) => asideStep(item, name, deps, copies.snapshots))
  const last = steps.at(-1)
  if (last === undefined) return []
  const run: WorkStep['run'] = async (context) => {
    await last.run(context)
    await take(context)
  }
  return [...steps.slice(0, -1), { ...last, run }]
}

const lookMs = 60_000

/** What the failure left: moved data whose step did not end is in the trash, and what was not moved is not. */
async function settleMoving({ id }: ProjectOperation, deps: OperationDeps): Promise<void> {
  // What cannot be asked now is settled by the next look at the trash.
  for (const item of await deps.store.trash.ofOperation(id))
    if (item.state === 'moving') await finishRemoval(item, deps).catch(() => undefined)
}

function secretsOf(data: string, { deleteData = [], deleteSecrets = [] }: Partial<Removal>): readonly string[] {
  if (deleteData.length === 1) return deleteSecrets
  return deleteSecrets.filter((name) => name.startsWith(serviceSecret(data, '')))
}

/** What is known of data goes in the same step: whatever becomes of the rest of the operation. */
function thenForgotten(
  step: WorkStep,
  project: string,
  data: string,
  removal: Partial<Removal>,
  { store }: OperationDeps,
): WorkStep {
  const { deleteData = [], releasePorts = deleteData } = removal
  const secrets = secretsOf(data, removal)
  return {
    ...step,
    run: async (context) => {
      await step.run(context)
      await store.transaction(async (tx) => {
        for (const name of secrets) await tx.secrets.delete(project, name)
        if (releasePorts.includes(data)) await tx.ports.release(project, data)
        await tx.keptData.delete(project, data)
        await tx.seeds.forget(project, data)
      })
    },
  }
}

/** Data without a row is swept by the next start; a row without data would say that there is a snapshot. */
function forgottenFirst(
  step: WorkStep,
  { snapshot, archive }: { readonly snapshot: SnapshotRow | undefined; readonly archive: ArchiveRow | undefined },
  { store }: OperationDeps,
): WorkStep {
  return {
    ...step,
    run: async (context) => {
      await store.transaction(async (tx) => {
        if (snapshot !== undefined) await forgetRow(tx, snapshot)
        if (archive !== undefined) await tx.archives.delete(archive.id)
      })
      await step.run(context)
    },
  }
}
