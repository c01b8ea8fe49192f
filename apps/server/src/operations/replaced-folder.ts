import { requireClearable } from '@stackquay/engines'
import type { WorkStep } from '@stackquay/orchestrator'
import type { ProjectRow } from '@stackquay/store'
import { isThere } from '../projects/files-of.ts'
import { findProject, finish, type OperationDeps } from './operation-deps.ts'

/** Before anything is touched: what of a folder cannot be removed would leave it empty, and could not be undone. `exceptOf`: what stays in it. */
export function clearableStep(
  project: string,
  exceptOf: (row: ProjectRow) => Promise<readonly string[]>,
  deps: OperationDeps,
): WorkStep {
  const run: WorkStep['run'] = async ({ signal }) => {
    const row = await findProject(deps.store, project)
    // Nothing has to go then.
    if (!(await isThere(row.path))) return
    const account = await deps.provision(project, signal)
    await requireClearable(account, row.path, { except: await exceptOf(row), signal })
  }
  return { id: 'folder', title: 'Look whether the folder can be replaced', run }
}

/** When what was replaced could not be put back: nothing starts over what is half there, and the copy of it stays, to be restored by hand. */
export async function leaveHalfReplaced(project: string, deps: OperationDeps): Promise<void> {
  await deps.store.transaction((tx) => tx.projects.setLifecycle(project, { desired: 'stopped' }))
  await deps.restartHolds.release(project)
  await finish(project, deps)
}
