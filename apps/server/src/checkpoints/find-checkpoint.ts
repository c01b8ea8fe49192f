import { type Checkpoint, ProblemError } from '@stackquay/contract'
import { checkpointData, checkpointSource } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { CheckpointRow, ProjectRow, Store } from '@stackquay/store'

/** Throws `not_found`. */
export async function findCheckpoint(
  { id: project, slug }: ProjectRow,
  id: string,
  { checkpoints }: Pick<Store, 'checkpoints'>,
): Promise<CheckpointRow> {
  const found = await checkpoints.find(project, id)
  if (found !== null) return found
  throw new ProblemError('not_found', `There is no checkpoint "${id}" of "${slug}".`)
}

/** Its row is there: its data must be too, which is not so after an older state of the service was restored. */
export async function requireCheckpointData(
  { id: project, engine: now }: ProjectRow,
  { id, name, engine: then, parts }: CheckpointRow,
  engine: Engine,
  signal: AbortSignal,
): Promise<void> {
  const there = await engine.dataNames(project, signal)
  const nameOf = (part: string) => (part === 'source' ? checkpointSource(id) : checkpointData(id, part))
  if (now === then && parts.every((part) => there.includes(nameOf(part.name)))) return
  throw new ProblemError('engine_cannot', `Data of the checkpoint "${name}" is gone.`, {
    hint: 'Delete the checkpoint.',
  })
}

export function checkpointView(row: CheckpointRow): Checkpoint {
  const { id, name, source, parts, milliseconds, warnings, createdAt } = row
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  return { id, name, source, parts: [...parts], bytes, milliseconds, warnings: [...warnings], createdAt }
}
