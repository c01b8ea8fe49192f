import { ProblemError } from '@stackquay/contract'
import type { Work } from '@stackquay/orchestrator'
import { backup } from './backup.ts'
import { carryOutActs } from './carry-out-acts.ts'
import { create } from './create.ts'
import { deleteProject } from './delete.ts'
import { importDump } from './import.ts'
import type { OperationDeps } from './operation-deps.ts'
import { restore } from './restore.ts'
import { restoreAs } from './restore-as.ts'
import { update } from './update.ts'
import { verify } from './verify.ts'

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
      case 'update':
        return operation.input.deleteData === undefined ? carryOutActs(operation, deps) : update(operation, deps)
      case 'start':
      case 'stop':
      case 'restart':
      case 'reconcile':
        return carryOutActs(operation, deps)
      case 'backup':
        return backup(operation, deps)
      case 'restore':
        return operation.input.creates === true ? restoreAs(operation, deps) : restore(operation, deps)
      case 'verify':
        return verify(operation, deps)
      case 'import':
        return importDump(operation, deps)
      case 'delete':
        return deleteProject(operation, deps)
      default:
        return operation.kind satisfies never
    }
  }
}
