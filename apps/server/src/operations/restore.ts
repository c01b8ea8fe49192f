import type { PartEntry } from '@stackquay/archive'
import { dataOfPart, filesPart, settingsPart } from '@stackquay/domain'
import type { Outcome, StepContext, Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { backupEvent } from '../backups/backup-event.ts'
import { openBackup } from '../backups/open-backup.ts'
import { usersOfParts } from '../backups/project-parts.ts'
import { forgetBefore } from './forget-before.ts'
import { deadlines, findProject, finish, forever, type OperationDeps } from './operation-deps.ts'
import { bringBack, noteInput, pausedBy, pauseWorkloads } from './paused.ts'
import { dropData, keptFiles, type PutBack, putPart } from './put-back.ts'
import { type Failures, giveUpAfter, reconcileSteps } from './reconcile-steps.ts'
import { clearableStep, leaveHalfReplaced } from './replaced-folder.ts'
import { checkSteps } from './restore-checks.ts'
import { takeBackup } from './take-backup.ts'

/** What a restore in place was asked for. */
export interface RestoreInput {
  /** Id of the backup that is put back. */
  readonly backup: string
  readonly parts: readonly string[]
  /** Id that the backup of what is replaced gets, or has: a second attempt makes no second one. */
  readonly before: string
}

/**
 * Puts parts of a project back to what a backup holds: what is replaced is backed up first, and whatever goes wrong puts that back.
 * Cut off it begins again, and replaces what is half done.
 */
export function restore(operation: ProjectOperation, deps: OperationDeps): Work {
  const input = operation.input as unknown as RestoreInput
  const failures: Failures = []
  let abandon = async () => {}
  const before = async () => {
    const row = await findProject(deps.store, operation.project)
    const request = {
      id: input.before,
      source: 'before-restore',
      note: `Before the restore of ${input.backup}`,
      parts: input.parts,
    } as const
    const taken = takeBackup(operation, row, { ...request, includeRebuildable: false, bringsBack: false }, deps)
    abandon = taken.abandon
    return taken.steps()
  }
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      async () => [...checkSteps(operation.project, input, deps), ...folderSteps(operation, input, deps)],
      async () => pauseSteps(operation, input, deps),
      before,
      async () => putSteps(operation, input, deps),
      () => startSteps(operation, input, failures, deps),
    ],
    settle: async (outcome) => {
      await abandon()
      if (outcome.state === 'succeeded') return settleRestored(operation, input, deps)
      await settleUndone(operation, input, outcome, failures, deps)
    },
  }
}

/** Looked at when the backup was found to be whole. */
function folderSteps(
  { project }: ProjectOperation,
  { backup, parts }: RestoreInput,
  deps: OperationDeps,
): readonly WorkStep[] {
  const held = deps.backups.known.find(backup)?.manifest.parts ?? []
  if (!parts.includes(filesPart) || !held.some(({ id }) => id === filesPart)) return []
  const exceptOf = async (row: ProjectRow) => keptFiles(row, (await openBackup(backup, parts, deps.backups)).settings)
  return [clearableStep(project, exceptOf, deps)]
}

async function pauseSteps(
  operation: ProjectOperation,
  { parts }: RestoreInput,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const row = await findProject(deps.store, operation.project)
  const { kinds } = (await deps.model.renew(row.id)).resolved
  const observed = await deps.engine.observe(row.id, forever)
  const names = usersOfParts(row, parts, observed, kinds)
  if (names.length === 0) return []
  const run: WorkStep['run'] = (context) => pauseWorkloads(operation, names, context, deps)
  return [{ id: 'pause', title: `Stop what uses it: ${names.join(', ')}`, run }]
}

async function putSteps(
  operation: ProjectOperation,
  input: RestoreInput,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const from = await openBackup(input.backup, input.parts, deps.backups)
  const begin: WorkStep = {
    id: 'begin',
    title: 'Begin to replace',
    run: () => noteInput(operation.id, { replacing: true }, deps),
  }
  const steps = inOrder(from, input.parts).map(
    (part): WorkStep => ({
      id: `put:${part.id}`,
      title: `Put ${part.title} back`,
      run: async (context) => putPart(await findProject(deps.store, operation.project), part, from, context, deps),
    }),
  )
  return [begin, ...steps]
}

/** Settings last: what they make different is then started once, over the data that is there. */
function inOrder({ manifest }: PutBack, parts: readonly string[]): readonly PartEntry[] {
  const chosen = manifest.parts.filter(({ id }) => parts.includes(id))
  return [...chosen.filter(({ id }) => id !== settingsPart), ...chosen.filter(({ id }) => id === settingsPart)]
}

/** What ran runs again; after settings, what they want. */
async function startSteps(
  { id, project }: ProjectOperation,
  { parts }: RestoreInput,
  failures: Failures,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const row = await findProject(deps.store, project)
  if (parts.includes(settingsPart) && row.desired === 'running') {
    const carries = (carried: ProjectRow) => deps.carries(id, carried)
    return reconcileSteps(project, { goal: 'running' }, failures, deps, carries)
  }
  const names = await pausedBy(id, deps)
  if (names.length === 0) return []
  return reconcileSteps(project, { goal: 'running', touched: async () => names }, failures, deps)
}

async function settleRestored({ id, project }: ProjectOperation, { backup }: RestoreInput, deps: OperationDeps) {
  await noteInput(id, { paused: [] }, deps)
  await deps.restartHolds.release(project)
  const known = deps.backups.known.find(backup)
  if (known !== null)
    await deps.store.transaction((tx) => tx.events.append(backupEvent('backup.restored', known.manifest)))
  await finish(project, deps)
}

async function settleUndone(
  operation: ProjectOperation,
  input: RestoreInput,
  outcome: Outcome,
  failures: Failures,
  deps: OperationDeps,
): Promise<void> {
  const { store, restartHolds } = deps
  const now = await store.operations.find(operation.id)
  const row = await store.projects.find(operation.project)
  if (row === null) return
  const context: StepContext = { signal: forever, output: () => undefined }
  if (now?.input.replacing === true) {
    try {
      await pauseAgain(operation, input, context, deps)
      await putBeforeBack(row, input, context, deps)
    } catch (error) {
      await leaveHalfReplaced(row.id, deps)
      throw error
    }
  }
  await forgetBefore(input.before, deps)
  if (row.phase === 'deleting') return restartHolds.release(row.id)
  giveUpAfter(outcome, failures, deps)
  await bringBack(operation, context, deps)
  await finish(row.id, deps)
}

/** What was started already is in the way. */
async function pauseAgain(operation: ProjectOperation, input: RestoreInput, context: StepContext, deps: OperationDeps) {
  const row = await findProject(deps.store, operation.project)
  const { kinds } = (await deps.model.renew(row.id)).resolved
  const observed = await deps.engine.observe(row.id, forever)
  await pauseWorkloads(operation, usersOfParts(row, input.parts, observed, kinds), context, deps)
}

/** All that was named, also where nothing was before. */
async function putBeforeBack(
  row: ProjectRow,
  { before, parts, backup }: RestoreInput,
  context: StepContext,
  deps: OperationDeps,
) {
  const from = await openBackup(before, parts, deps.backups)
  for (const part of inOrder(from, parts))
    await putPart((await deps.store.projects.find(row.id)) ?? row, part, from, context, deps)
  const restored = deps.backups.known.find(backup)?.manifest.parts ?? []
  for (const part of restored) {
    const data = dataOfPart(part)
    const isNew = parts.includes(part.id) && !from.manifest.parts.some(({ id }) => id === part.id)
    if (isNew && part.id !== filesPart && data !== null) await dropData(row.id, data, context, deps)
  }
}
