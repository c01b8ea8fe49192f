import type { CopyMethod } from '@stackquay/contract'
import { isCopiedData, localFolders } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import { type Accounts, sizeAsUser } from '@stackquay/engines'
import type { ProjectRow } from '@stackquay/store'
import { rebuildableOf } from '../backups/project-parts.ts'
import { isThere, readerOf } from '../projects/files-of.ts'

/** What a checkpoint of a project would take along now. */
export interface CheckpointRoom {
  readonly method: CopyMethod
  readonly data: readonly { readonly name: string; readonly sizeBytes: number }[]
  readonly sourceBytes: number
  /** What it takes of the disk at most: shared blocks take none. */
  readonly bytes: number
}

export interface RoomDeps {
  readonly engine: Engine
  readonly accounts: Pick<Accounts, 'known'>
}

export async function roomForCheckpoint(
  row: ProjectRow,
  { includeRebuildable }: { readonly includeRebuildable: boolean },
  { engine, accounts }: RoomDeps,
  signal: AbortSignal,
): Promise<CheckpointRoom> {
  const without = [...(includeRebuildable ? [] : rebuildableOf(row)), ...localFolders]
  const sizeOfSource = async () =>
    (await isThere(row.path)) ? sizeAsUser(await readerOf(accounts, row), row.path, { signal, without }) : 0
  const [method, data, size] = await Promise.all([
    engine.copyMethod(row.id, signal),
    engine.data(row.id, signal),
    sizeOfSource(),
  ])
  const own = data.filter(({ name }) => !isCopiedData(name))
  const sourceBytes = size ?? 0
  const copied = method === 'copy' ? own.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) : 0
  return { method, data: own, sourceBytes, bytes: copied + sourceBytes }
}
