import { ProblemError } from '@stackquay/contract'
import {
  type DatabaseUpgrade,
  type DatabaseVersion,
  databaseWorkload,
  isOfDatabase,
  isOfService,
  partOfChange,
  sameSpec,
  withVersionsOf,
} from '@stackquay/domain'
import type { StepContext } from '@stackquay/orchestrator'
import { newId, type ProjectOperation, type ProjectRow } from '@stackquay/store'
import { openBackup } from '../backups/open-backup.ts'
import { usersOfParts } from '../backups/project-parts.ts'
import { runUpgrade } from '../upgrades/run-upgrade.ts'
import { forgetBefore } from './forget-before.ts'
import { findProject, forever, type OperationDeps } from './operation-deps.ts'
import { noteInput, pauseWorkloads } from './paused.ts'
import { putPart } from './put-back.ts'
import type { UpgradeRequest } from './upgrade.ts'

/**
 * How far one change of a version is, written down before or with what makes it true. `begun`: the data may be touched. `carried`: the new data is
 * whole, and nothing writes to the old. `exchanged`: the specification names the new version. `proven`: its server runs, and the old data may go.
 * `undone`: the old one is back, or on its way.
 */
export type UpgradeStage = 'begun' | 'carried' | 'exchanged' | 'proven' | 'undone'

export async function stageOf(
  operation: string,
  change: UpgradeRequest,
  { store }: Pick<OperationDeps, 'store'>,
): Promise<UpgradeStage | null> {
  return stagesIn((await store.operations.find(operation))?.input)[keyOf(change)] ?? null
}

/** No database has such a name as a part of a service. */
function keyOf(change: UpgradeRequest): string {
  return isOfService(change) ? partOfChange(change) : change.database
}

export function subjectOf(change: UpgradeRequest): string {
  return isOfService(change) ? change.service : change.database
}

export async function noteStage(
  operation: string,
  change: UpgradeRequest,
  stage: UpgradeStage,
  { store }: Pick<OperationDeps, 'store'>,
): Promise<void> {
  const before = stagesIn((await store.operations.find(operation))?.input)
  await noteInput(operation, { stages: { ...before, [keyOf(change)]: stage } }, { store })
}

function stagesIn(input: ProjectOperation['input'] | undefined): Readonly<Record<string, UpgradeStage>> {
  return (input?.stages ?? {}) as Readonly<Record<string, UpgradeStage>>
}

/** The service was ended while it put the old version back. It does not try the new one again. */
export function refuseUndone(stage: UpgradeStage | null, change: UpgradeRequest): void {
  if (stage !== 'undone') return
  const what = `The change of "${subjectOf(change)}" to ${change.to}`
  throw new ProblemError('interrupted', `${what} had failed, and the service was ended.`, {
    hint: 'The version and the data from before are back. Try again.',
  })
}

export async function upgradeOf(
  project: string,
  { database, from, to }: UpgradeRequest<DatabaseVersion>,
  { store, resolver }: Pick<OperationDeps, 'store' | 'resolver'>,
): Promise<DatabaseUpgrade> {
  const upgrade = await resolver.upgrade(await findProject(store, project), database, { from, to })
  if (upgrade === null)
    throw new ProblemError('unavailable_here', `The programs of version ${from} and ${to} are not both here.`, {
      hint: 'Install the missing one, then try again.',
    })
  return upgrade
}

/** In one transaction with how far the change is, so that no crash comes between. */
export async function setVersion(
  { id, project }: Pick<ProjectOperation, 'id' | 'project'>,
  change: UpgradeRequest,
  which: 'from' | 'to',
  { store, model }: Pick<OperationDeps, 'store' | 'model'>,
  stage: UpgradeStage,
): Promise<void> {
  await store.transaction(async (tx) => {
    const row = await findProject(store, project)
    const operation = await store.operations.find(id)
    const spec = withVersionsOf(row.spec, [change], which)
    // What was carried out last says the same: nothing is left to be done.
    const isCarriedOut = row.heldSpec !== null && sameSpec({ ...spec, name: row.heldSpec.name }, row.heldSpec)
    const changed = await tx.projects.update(project, row.generation, { spec, isCarriedOut })
    if (isOfDatabase(change)) {
      const database = spec.databases[change.database]
      // What was kept of its changes leads to the data of the other version.
      if (database !== undefined)
        await tx.archives.end(project, databaseWorkload(database.type, change.database), newId('arc'))
    } else if (which === 'from') await tx.keptData.writtenBy(project, change.service, change.from)
    const stages = { ...stagesIn(operation?.input), [keyOf(change)]: stage }
    if (operation !== null) await tx.operations.update(id, { input: { ...operation.input, stages } })
    await tx.events.append({
      type: 'project.changed',
      project,
      data: { id: project, slug: row.slug, generation: changed.generation },
    })
  })
  await model.renew(project)
}

/** At the end, whatever came before: what is proven loses its old data, what is not is the old one again. Done twice it is the same as once. */
export async function undoVersion(
  operation: ProjectOperation,
  change: UpgradeRequest,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const stage = await stageOf(operation.id, change, deps)
  if (stage === 'proven') return finishVersion(operation.project, change, context, deps)
  if (stage !== null) {
    if (stage !== 'undone') await noteStage(operation.id, change, 'undone', deps)
    const row = await findProject(deps.store, operation.project)
    const { kinds } = (await deps.model.renew(row.id)).resolved
    const observed = await deps.engine.observe(row.id, forever)
    const users = usersOfParts(row, [partOfChange(change)], observed, kinds)
    await pauseWorkloads(operation, users, context, deps, { mayStay: isOfService(change) })
    await putOldBack(row, change, context, deps)
    await setVersion(operation, change, 'from', deps, 'undone')
  }
  await forgetBefore(change.before, deps)
}

/** Where the old data lies beside the new, it is put back as it is; else, and where that fails, from the backup. */
async function putOldBack(
  row: ProjectRow,
  change: UpgradeRequest,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const isForward = isOfDatabase(change) && change.back === null
  const upgrade = isForward ? await deps.resolver.upgrade(row, change.database, change) : null
  if (upgrade?.manner === 'anew') {
    const isBack = await runUpgrade(upgrade, upgrade.undo, context, deps).then(
      () => true,
      () => false,
    )
    if (isBack) return
  }
  const id = partOfChange(change)
  const from = await openBackup(change.before, [id], deps.backups)
  for (const part of from.manifest.parts) if (part.id === id) await putPart(row, part, from, context, deps)
}

/** Only room is lost where this fails; the next upgrade clears it away. */
async function finishVersion(
  project: string,
  change: UpgradeRequest,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  if (!isOfDatabase(change) || change.back !== null) return
  const row = await findProject(deps.store, project)
  const upgrade = await deps.resolver.upgrade(row, change.database, change)
  if (upgrade?.manner === 'anew') await runUpgrade(upgrade, upgrade.finish, context, deps).catch(() => undefined)
}
