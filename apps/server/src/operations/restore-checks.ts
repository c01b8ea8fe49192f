import type { PartEntry } from '@stackquay/archive'
import { dataOfPart } from '@stackquay/domain'
import type { WorkStep } from '@stackquay/orchestrator'
import { requireRoom, requireRoomForData } from '../backups/free-room.ts'
import type { OperationDeps } from './operation-deps.ts'

/** Before anything is touched: the backup is whole, and there is room for what it holds. */
export function checkSteps(
  project: string,
  { backup, parts }: { readonly backup: string; readonly parts: readonly string[] },
  deps: OperationDeps,
): readonly WorkStep[] {
  const { backups, config } = deps
  const check: WorkStep['run'] = async ({ signal }) => {
    await backups.folder.check(backup, parts, signal)
    const chosen = backups.known.find(backup)?.manifest.parts.filter(({ id }) => parts.includes(id)) ?? []
    const sumOf = (those: typeof chosen) => those.reduce((sum, part) => sum + part.contentBytes, 0)
    const isOther = (part: PartEntry) => dataOfPart(part) === null
    await requireRoom(config.home, sumOf(chosen.filter(isOther)), 'What the backup holds besides data')
    await requireRoomForData(project, sumOf(chosen), 'What the backup holds', deps, signal)
  }
  return [{ id: 'check', title: 'Compare the backup with its checksums', run: check }]
}
