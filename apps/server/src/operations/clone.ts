import type { Recovered } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import {
  type DatabaseSpec,
  databasePart,
  databaseWorkload,
  goalOf,
  type SnapshotSubject,
  secretsOfPart,
  snapshotSecret,
  withPrimaryMarked,
} from '@stackquay/domain'
import type { Outcome, StepContext, Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import type { MomentInput } from '../point-in-time/moment.ts'
import { copyKept } from './copy-kept.ts'
import { deadlines, findProject, finish, forever, type OperationDeps } from './operation-deps.ts'
import { bringBack, noteInput } from './paused.ts'
import { dropData } from './put-back.ts'
import { type Failures, giveUpAfter, reconcileSteps } from './reconcile-steps.ts'
import { recoverData } from './recover-data.ts'
import { secretTexts } from './secret-texts.ts'

export interface CloneInput {
  readonly subject: SnapshotSubject
  /** Name of the new database. */
  readonly name: string
  /** Id of a snapshot; null: the database as it is. */
  readonly snapshot: string | null
  /** The snapshot is a base, and its copy is brought to this moment. */
  readonly moment?: MomentInput
}

/** Adds a database with a copy of the data of another. It is in the specification once its data is there. */
export function clone(operation: ProjectOperation, deps: OperationDeps): Work {
  const input = operation.input as unknown as CloneInput
  const failures: Failures = []
  const { project } = operation
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      async () => [
        {
          id: 'copy',
          title: `Copy the data of ${input.subject.title}`,
          run: (context) => copyOnce(operation, input, context, deps),
        },
        ...recoverSteps(operation, input, deps),
        { id: 'declare', title: `Add the database ${input.name}`, run: () => declare(operation, input, deps) },
      ],
      () => startSteps(operation, input, failures, deps),
    ],
    settle: async (outcome) => {
      const row = await deps.store.projects.find(project)
      if (row === null) return
      const context: StepContext = { signal: forever, output: () => undefined }
      await undo(row, operation, input, outcome, context, deps)
      if (row.phase === 'deleting') return deps.restartHolds.release(project)
      giveUpAfter(outcome, failures, deps)
      await bringBack(operation, context, deps)
      await finish(project, deps)
    },
  }
}

function recoverSteps(operation: ProjectOperation, input: CloneInput, deps: OperationDeps): readonly WorkStep[] {
  const { moment, snapshot } = input
  if (moment === undefined || snapshot === null) return []
  const run: WorkStep['run'] = async (context) => {
    if ((await recoveredBy(operation, deps)) !== undefined) return
    const recovered = await recoverData(operation, { ...input, moment, snapshot }, context, deps)
    await noteInput(operation.id, { recovered }, deps)
  }
  return [{ id: 'recover', title: `Play its changes back to ${moment.to}`, run }]
}

async function recoveredBy({ id }: ProjectOperation, { store }: Pick<OperationDeps, 'store'>) {
  return (await store.operations.find(id))?.input.recovered as Recovered | undefined
}

async function copyOnce(
  operation: ProjectOperation,
  { subject, name, snapshot, moment }: CloneInput,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const row = await findProject(deps.store, operation.project)
  const to = { project: row.id, name: databaseWorkload(subject.type, name) }
  // Half of a recovery is none: it begins with the base again.
  const isDone = moment === undefined ? isCopied(operation, deps) : recoveredBy(operation, deps)
  if (await isDone) return
  // Before the copy there was none: what is there is of an attempt that was cut off.
  if ((await deps.engine.dataNames(row.id, context.signal)).includes(to.name))
    await dropData(row.id, to.name, context, deps)
  await copyKept(operation, row, { from: snapshot ?? subject.data, to }, context, deps)
  await noteInput(operation.id, { copied: true }, deps)
}

async function isCopied({ id }: ProjectOperation, { store }: OperationDeps): Promise<boolean> {
  return (await store.operations.find(id))?.input.copied === true
}

/** The database, with the passwords that its data knows. */
async function declare(
  operation: ProjectOperation,
  { subject, name, snapshot, moment }: CloneInput,
  { store, model }: OperationDeps,
): Promise<void> {
  const row = await findProject(store, operation.project)
  if (await isDeclared(operation, { store })) return
  const origin = row.spec.databases[subject.name]
  if (origin === undefined || Object.hasOwn(row.spec.databases, name))
    throw new ProblemError('conflict', `The databases of "${row.slug}" were changed meanwhile.`, {
      hint: 'Look at them, then try again.',
    })
  const part = { id: subject.part, type: subject.type }
  const storedAs = (secret: string) => (snapshot === null ? secret : snapshotSecret(snapshot, secret))
  const texts = await secretTexts(row.id, part, storedAs, store)
  // In the same order, for it is the same type.
  const [own, its] = [secretsOfPart(part), secretsOfPart({ ...part, id: databasePart(name) })]
  const inside = origin.inside ?? subject.name
  // A snapshot from before an upgrade is of the version of then.
  const copied = snapshot === null ? null : await store.snapshots.find(row.id, snapshot)
  const version = copied?.version ?? origin.version
  const settings: DatabaseSpec = { type: origin.type, version, exposePort: false, inside, primary: false }
  const recovered = await recoveredBy(operation, { store })
  const { lastTransactionAt = null } = recovered ?? {}
  const added =
    moment === undefined
      ? settings
      : { ...settings, recovered: { database: subject.name, to: moment.to, lastTransactionAt } }
  const databases = { ...withPrimaryMarked(row.spec.databases), [name]: added }
  await store.transaction(async (tx) => {
    for (const [secret, text] of texts) await tx.secrets.put(row.id, its[own.indexOf(secret)] ?? secret, text)
    const spec = { ...row.spec, databases }
    const isCarriedOut = goalOf(row.desired) === 'stopped'
    const { generation, slug } = await tx.projects.update(row.id, row.generation, { spec, isCarriedOut })
    const now = await store.operations.find(operation.id)
    if (now !== null) await tx.operations.update(operation.id, { input: { ...now.input, declared: true } })
    await tx.events.append({ type: 'project.changed', project: row.id, data: { id: row.id, slug, generation } })
  })
  await model.renew(row.id)
}

async function isDeclared({ id }: ProjectOperation, { store }: Pick<OperationDeps, 'store'>): Promise<boolean> {
  return (await store.operations.find(id))?.input.declared === true
}

async function startSteps(
  { id, project }: ProjectOperation,
  { subject, name }: CloneInput,
  failures: Failures,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const row = await findProject(deps.store, project)
  if (row.desired !== 'running') return []
  const touched = async () => [databaseWorkload(subject.type, name)]
  const carries = (carried: ProjectRow) => deps.carries(id, carried)
  return reconcileSteps(project, { goal: 'running', touched }, failures, deps, carries)
}

/** Cancelled, nothing of it stays. One that failed when it was there stays, for people to look at why it does not start. */
async function undo(
  row: ProjectRow,
  operation: ProjectOperation,
  { subject, name }: CloneInput,
  outcome: Outcome,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { store, engine, model } = deps
  const declared = await isDeclared(operation, deps)
  if (outcome.state === 'succeeded' || (declared && outcome.state === 'failed')) return
  const data = databaseWorkload(subject.type, name)
  // Another database took the name: its data is not ours.
  if (!declared && Object.hasOwn(row.spec.databases, name) && !(await isCopied(operation, deps))) return
  if ((await engine.dataNames(row.id, forever)).includes(data) || declared) await dropData(row.id, data, context, deps)
  if (!declared) return
  const { [name]: _gone, ...databases } = row.spec.databases
  await store.transaction(async (tx) => {
    const spec = { ...row.spec, databases }
    const { generation, slug } = await tx.projects.update(row.id, row.generation, { spec, isCarriedOut: true })
    for (const secret of secretsOfPart({ id: databasePart(name), type: subject.type }))
      await tx.secrets.delete(row.id, secret)
    await tx.ports.release(row.id, data)
    await tx.events.append({ type: 'project.changed', project: row.id, data: { id: row.id, slug, generation } })
  })
  await model.renew(row.id)
}
