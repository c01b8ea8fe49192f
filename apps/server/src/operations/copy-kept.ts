import type { DataCopied, DataRef } from '@stackquay/engine-api'
import type { StepContext } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { bytesText } from '../backups/free-room.ts'
import { holdData } from '../snapshots/hold-data.ts'
import { type HowToCopy, howToCopy, requireRoomForCopies } from '../snapshots/how-to-copy.ts'
import { forever, type OperationDeps } from './operation-deps.ts'
import { bringBack, pauseWorkloads } from './paused.ts'
import { told } from './take-backup.ts'

export interface Copied extends DataCopied {
  readonly milliseconds: number
}

/**
 * Copies data of a project beside it: held by its type, with its workload stopped, or as it lies. All of it or nothing. What it stopped
 * runs again afterwards, unless the caller stopped it before.
 */
export async function copyKept(
  operation: Pick<ProjectOperation, 'id' | 'project'>,
  row: ProjectRow,
  { from, to }: { readonly from: string; readonly to: DataRef },
  context: StepContext,
  deps: OperationDeps,
): Promise<Copied> {
  const how = await howToCopy(row, from, deps, { signal: context.signal, isShown: false })
  await requireRoomForCopies(row.id, [how], 'The copy', deps, context.signal)
  if (how.manner === 'stop') await pauseWorkloads(operation, [from], context, deps)
  try {
    const begun = performance.now()
    const copied = await copyNow(row, { from: { project: row.id, name: from }, to }, how, context, deps)
    const milliseconds = Math.round(performance.now() - begun)
    context.output({ stream: 'stdout', text: copiedText(copied, milliseconds) })
    return { ...copied, milliseconds }
  } finally {
    // Not with the signal of the operation: cancelled, it runs again all the same.
    if (how.manner === 'stop') await bringBack(operation, { ...context, signal: forever }, deps)
  }
}

async function copyNow(
  row: ProjectRow,
  { from, to }: { readonly from: DataRef; readonly to: DataRef },
  { live }: Pick<HowToCopy, 'live'>,
  context: StepContext,
  deps: OperationDeps,
): Promise<DataCopied> {
  const { engine } = deps
  const { signal } = context
  const onBytes = told(context, 'copied')
  if (live === null) return engine.copyData(from, to, { onBytes }, signal)
  const held = await holdData({ program: live, project: row.id, title: from.name }, deps, signal)
  try {
    const { leftOut, later } = live
    const copied = await engine.copyData(from, to, { onBytes, live: { leftOut, later, between: held.files } }, signal)
    await held.finish()
    return copied
  } finally {
    await held.abandon()
  }
}

export function copiedText({ method, bytes }: DataCopied, milliseconds: number): string {
  const how =
    method === 'copy-on-write' ? 'copy-on-write, so it takes no room' : 'copied, for the file system shares no blocks'
  return `${bytesText(bytes)} in ${milliseconds} ms: ${how}\n`
}
