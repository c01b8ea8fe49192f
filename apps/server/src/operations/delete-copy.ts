import type { StepContext, Work } from '@stackquay/orchestrator'
import type { OperationRow } from '@stackquay/store'
import { deleteCopy } from '../backup-targets/old-copies.ts'
import { findTarget, useTarget } from '../backup-targets/use-target.ts'
import { retryTold } from './copy-backup.ts'
import { deadlines, type OperationDeps } from './operation-deps.ts'

/** Deletes a copy that a person named. Killed in between it goes on; what is left of one that fails is no copy. */
export function deleteTargetCopy({ input }: OperationRow, { store, backups }: OperationDeps): Work {
  const [backup, target] = [String(input.backup), String(input.target)]
  const run = async (context: StepContext) => {
    const row = await findTarget(store, target)
    await useTarget(row, store, { onRetry: retryTold(context) }, async (opened) => {
      await opened.requireKey(context.signal)
      await deleteCopy(backup, null, { row, opened, context, store, backups })
    })
  }
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      async () => {
        const { name } = await findTarget(store, target)
        return [{ id: 'delete', title: `Delete the copy on ${name}`, run }]
      },
    ],
    settle: async () => {},
  }
}
