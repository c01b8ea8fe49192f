import { ProblemError } from '@stackquay/contract'
import type { Work } from '@stackquay/orchestrator'
import type { OperationRow, ProjectOperation } from '@stackquay/store'
import { isOfInstance } from '../backups/copied-archive.ts'
import { backup } from './backup.ts'
import { backupInstance } from './backup-instance.ts'
import { carryOutActs } from './carry-out-acts.ts'
import { checkpoint } from './checkpoint.ts'
import { clone } from './clone.ts'
import { copyBackup } from './copy-backup.ts'
import { create } from './create.ts'
import { deleteProject } from './delete.ts'
import { deleteTargetCopy } from './delete-copy.ts'
import { deploy } from './deploy.ts'
import { fetchBackup } from './fetch-backup.ts'
import { fetchInstanceBackup } from './fetch-instance-backup.ts'
import { git } from './git.ts'
import { importDump } from './import.ts'
import type { OperationDeps } from './operation-deps.ts'
import { pull } from './pull.ts'
import { restore } from './restore.ts'
import { restoreAs } from './restore-as.ts'
import { restoreCheckpoint } from './restore-checkpoint.ts'
import { restoreSnapshot } from './restore-snapshot.ts'
import { snapshot } from './snapshot.ts'
import { update } from './update.ts'
import { upgrade } from './upgrade.ts'
import { verify } from './verify.ts'
import { withHooks } from './with-hooks.ts'

export type { OperationDeps } from './operation-deps.ts'

/** What each kind of operation does. Every step may be done again after a crash. */
export function createOperationHandlers(deps: OperationDeps): (operation: string) => Promise<Work> {
  return async (id) => {
    const operation = await deps.store.operations.find(id)
    if (operation === null) throw new ProblemError('not_found', 'The operation is gone.')
    if (isOfProject(operation)) return withHooks(operation, workOfProject(operation, deps), deps)
    switch (operation.kind) {
      case 'backup':
        return backupInstance(operation, deps)
      case 'copy-backup':
        return copyBackup(operation, deps)
      case 'fetch-backup':
        return isOfInstance(String(operation.input.backup))
          ? fetchInstanceBackup(operation, deps)
          : fetchBackup(operation, deps)
      case 'delete-copy':
        return deleteTargetCopy(operation, deps)
      default:
        throw new TypeError(`An operation of the kind ${operation.kind} has a project.`)
    }
  }
}

function isOfProject(operation: OperationRow): operation is ProjectOperation {
  return operation.project !== null
}

function workOfProject(operation: ProjectOperation, deps: OperationDeps): Work {
  switch (operation.kind) {
    case 'create':
    case 'duplicate':
      return create(operation, deps)
    case 'update':
      if (operation.input.versions !== undefined) return upgrade(operation, deps)
      return operation.input.deleteData === undefined ? carryOutActs(operation, deps) : update(operation, deps)
    case 'start':
    case 'stop':
    case 'restart':
    case 'reconcile':
    case 'sleep':
    case 'wake':
      return carryOutActs(operation, deps)
    case 'backup':
      return backup(operation, deps)
    case 'restore':
      return operation.input.creates === true ? restoreAs(operation, deps) : restore(operation, deps)
    case 'verify':
      return verify(operation, deps)
    case 'import':
      return importDump(operation, deps)
    case 'snapshot':
      return snapshot(operation, deps)
    case 'restore-snapshot':
    case 'reset':
      return restoreSnapshot(operation, deps)
    case 'pull':
      return pull(operation, deps)
    case 'clone':
      return clone(operation, deps)
    case 'checkpoint':
      return checkpoint(operation, deps)
    case 'restore-checkpoint':
      return restoreCheckpoint(operation, deps)
    case 'git':
      return git(operation, deps)
    case 'deploy':
      return deploy(operation, deps)
    case 'delete':
      return deleteProject(operation, deps)
    case 'copy-backup':
    case 'fetch-backup':
    case 'delete-copy':
      throw new TypeError(`An operation of the kind ${operation.kind} has no project.`)
    default:
      return operation.kind satisfies never
  }
}
