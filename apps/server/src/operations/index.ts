import { ProblemError } from '@stackquay/contract'
import type { Work } from '@stackquay/orchestrator'
import { create } from './create.ts'
import { deleteProject } from './delete.ts'
import { findProject, type OperationDeps } from './operation-deps.ts'
import { startOrStop } from './start-and-stop.ts'
import { update } from './update.ts'

export type { OperationDeps } from './operation-deps.ts'

/** What each kind of operation does. Every step may be done again after a crash. */
export function createOperationHandlers(deps: OperationDeps): (operation: string) => Promise<Work> {
  return async (id) => {
    const operation = await deps.store.operations.find(id)
    if (operation === null) throw new ProblemError('not_found', 'The operation is gone.')
    switch (operation.kind) {
      case 'create':
      case 'duplicate':
        return create(operation, deps)
      case 'start':
        return startOrStop(operation, { goal: 'running' }, deps)
      case 'restart':
        return startOrStop(operation, { goal: 'running', restart: true }, deps)
      case 'stop':
        return startOrStop(operation, { goal: 'stopped' }, deps)
      case 'reconcile': {
        const { desired: goal } = await findProject(deps.store, operation.project)
        return startOrStop(operation, { goal, keepChanged: true }, deps)
      }
      case 'update':
        return update(operation, deps)
      case 'delete':
        return deleteProject(operation, deps)
      default:
        return operation.kind satisfies never
    }
  }
}
