import type { Work } from '@stackquay/orchestrator'
import type { ProjectOperation } from '@stackquay/store'
import { deadlines, findProject, finish, forever, type OperationDeps } from './operation-deps.ts'
import { bringBack } from './paused.ts'
import { type BackupRequest, takeBackup } from './take-backup.ts'

/** Makes a backup, part by part. It is there whole at the end, or nothing of it is. */
export function backup(operation: ProjectOperation, deps: OperationDeps): Work {
  const { project, input } = operation
  let abandon = async () => {}
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      async () => {
        const row = await findProject(deps.store, project)
        const taken = takeBackup(operation, row, { ...(input.request as BackupRequest), bringsBack: true }, deps)
        abandon = taken.abandon
        return taken.steps()
      },
    ],
    settle: async () => {
      await abandon()
      await settle(operation, deps)
    },
  }
}

/** What was stopped runs again, however it ended; unless the project is about to go. */
async function settle(operation: ProjectOperation, deps: OperationDeps): Promise<void> {
  const row = await deps.store.projects.find(operation.project)
  if (row === null || row.phase === 'deleting') return deps.restartHolds.release(operation.project)
  await bringBack(operation, { signal: forever, output: () => undefined }, deps)
  await finish(operation.project, deps, { asKnown: true })
}
