import type { WorkStep } from '@stackquay/orchestrator'
import { requireRoom } from '../backups/free-room.ts'
import type { OperationDeps } from './operation-deps.ts'

/** Before anything is touched: the backup is whole, and there is room for what it holds. */
export function checkSteps(
  { backup, parts }: { readonly backup: string; readonly parts: readonly string[] },
  { backups, config }: OperationDeps,
): readonly WorkStep[] {
  const check: WorkStep['run'] = async ({ signal }) => {
    await backups.folder.check(backup, parts, signal)
    const chosen = backups.known.find(backup)?.manifest.parts.filter(({ id }) => parts.includes(id)) ?? []
    await requireRoom(
      config.home,
      chosen.reduce((sum, part) => sum + part.contentBytes, 0),
      'What the backup holds',
    )
  }
  return [{ id: 'check', title: 'Compare the backup with its checksums', run: check }]
}
