import { isCopiedData } from '@stackquay/domain'
import type { StepContext, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { copyKept } from './copy-kept.ts'
import { findProject, type OperationDeps } from './operation-deps.ts'

/** Databases and services are copied one after the other, in the queue of the original: what can, runs on meanwhile. */
export function copyDataSteps(row: ProjectRow, operation: ProjectOperation, deps: OperationDeps): readonly WorkStep[] {
  if (row.source?.kind === 'branch' && !row.source.clones) return []
  const original = operation.input.of
  if (typeof original !== 'string') return []
  const run: WorkStep['run'] = (context) =>
    deps.queues.enter(original, () => copyData({ operation, original, copy: row.id }, context, deps))
  return [{ id: 'copy-data', title: 'Copy databases and kept data', run }]
}

interface Copying {
  readonly operation: ProjectOperation
  readonly original: string
  readonly copy: string
}

/** Its snapshots and checkpoints stay where they are: a copy begins with none. */
async function copyData(
  { operation, original, copy }: Copying,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { store, engine } = deps
  const source = await findProject(store, original)
  const names = (await engine.dataNames(original, context.signal)).filter((name) => !isCopiedData(name))
  const there = new Set(await engine.dataNames(copy, context.signal))
  await copyVersions(original, copy, deps)
  context.output({ stream: 'stdout', text: `${notCopied}\n` })
  for (const name of names.filter((one) => !there.has(one))) {
    context.output({ stream: 'stdout', text: `${name}\n` })
    const to = { project: copy, name }
    await copyKept({ id: operation.id, project: original }, source, { from: name, to }, context, deps)
  }
}

const notCopied =
  'Backup schedules, domains, shares, snapshots and checkpoints of the original are not copied: what acts by itself is off in a copy.'

/** Which version wrote the data, and since when nothing uses it. */
async function copyVersions(original: string, copy: string, { store }: OperationDeps): Promise<void> {
  const kept = await store.keptData.of(original)
  await store.transaction(async (tx) => {
    for (const { name, version, keptAt } of kept) {
      await tx.keptData.writtenBy(copy, name, version)
      if (keptAt !== null) await tx.keptData.setKept(copy, name, true)
    }
  })
}
