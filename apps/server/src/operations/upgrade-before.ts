import { isOfDatabase, isOfService, partOfChange } from '@stackquay/domain'
import type { WorkStep } from '@stackquay/orchestrator'
import { usersOfParts } from '../backups/project-parts.ts'
import { findProject, forever, type OperationDeps } from './operation-deps.ts'
import { pauseWorkloads } from './paused.ts'
import { takeBackup } from './take-backup.ts'
import type { Upgrading } from './upgrade.ts'
import { subjectOf } from './upgrade-undo.ts'

export async function pauseSteps({ operation, change }: Upgrading, deps: OperationDeps): Promise<readonly WorkStep[]> {
  const row = await findProject(deps.store, operation.project)
  const { kinds } = (await deps.model.renew(row.id)).resolved
  const observed = await deps.engine.observe(row.id, forever)
  const names = usersOfParts(row, [partOfChange(change)], observed, kinds)
  if (names.length === 0) return []
  // The program of the old line may be gone from the machine: that is why somebody changes the version.
  const mayStay = isOfService(change)
  const run: WorkStep['run'] = (context) => pauseWorkloads(operation, names, context, deps, { mayStay })
  return [{ id: 'pause', title: `Stop what uses it: ${names.join(', ')}`, run }]
}

/** Everything that could be needed to come back, while nothing writes. */
export async function backupSteps(
  { operation, change, taken }: Upgrading,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const row = await findProject(deps.store, operation.project)
  const { before, from, to } = change
  const back = isOfDatabase(change) ? change.back : null
  const subject = subjectOf(change)
  const request = {
    id: before,
    source: back === null ? ('before-upgrade' as const) : ('before-restore' as const),
    note:
      back === null
        ? `Before ${subject} becomes version ${to}`
        : `Before ${subject} goes back to version ${to} from ${from}`,
    parts: [partOfChange(change)],
    bringsBack: false,
  }
  const backup = takeBackup(operation, row, request, deps)
  taken.push(backup)
  return backup.steps()
}
