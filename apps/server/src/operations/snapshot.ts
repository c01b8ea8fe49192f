import type { SnapshotSubject } from '@stackquay/domain'
import type { Work } from '@stackquay/orchestrator'
import type { ProjectOperation } from '@stackquay/store'
import { deadlines, findProject, finish, forever, type OperationDeps } from './operation-deps.ts'
import { bringBack } from './paused.ts'
import { forgetSnapshot, type SnapshotRequest, takeSnapshot } from './take-snapshot.ts'

export interface SnapshotInput {
  readonly subject: SnapshotSubject
  readonly request: SnapshotRequest
}

/** Makes a snapshot. It is there whole at the end, or nothing of it is. */
export function snapshot(operation: ProjectOperation, deps: OperationDeps): Work {
  const { project, input } = operation
  const wanted = input as unknown as SnapshotInput
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      async () => [
        {
          id: 'copy',
          title: `Copy the data of ${wanted.subject.title}`,
          run: async (context) =>
            takeSnapshot(operation, await findProject(deps.store, project), wanted, context, deps),
        },
      ],
    ],
    settle: async (outcome) => {
      const row = await deps.store.projects.find(project)
      if (row === null || row.phase === 'deleting') return deps.restartHolds.release(project)
      if (outcome.state !== 'succeeded') await forgetSnapshot(project, wanted.request.id, deps)
      await bringBack(operation, { signal: forever, output: () => undefined }, deps)
      await finish(project, deps, { asKnown: true })
    },
  }
}
