import type { CheckpointPart, CheckpointSource } from '@stackquay/contract'
import {
  checkpointData,
  checkpointOfData,
  checkpointSecret,
  checkpointSource,
  isCopiedData,
  localFolders,
} from '@stackquay/domain'
import { archiveOfStream } from '@stackquay/engine-api'
import { readTree } from '@stackquay/engines'
import type { StepContext, WorkStep } from '@stackquay/orchestrator'
import type { ProjectRow } from '@stackquay/store'
import { requireRoomForData } from '../backups/free-room.ts'
import { rebuildableOf } from '../backups/project-parts.ts'
import { type CheckpointSettings, checkpointSettingsOf } from '../checkpoints/checkpoint-settings.ts'
import { forgetCheckpointRow } from '../checkpoints/forget-row.ts'
import { roomForCheckpoint } from '../checkpoints/room-for-checkpoint.ts'
import { sourceWarnings } from '../checkpoints/source-warnings.ts'
import { isThere } from '../projects/files-of.ts'
import { copiedText } from './copy-kept.ts'
import { findProject, forever, type OperationDeps } from './operation-deps.ts'
import { passing } from './passing.ts'
import { dropData } from './put-back.ts'
import { told } from './take-backup.ts'

/** A checkpoint that is to be made, as its operation keeps it. */
export interface CheckpointRequest {
  /** Chosen when it was asked for, so that a second attempt makes the same one. */
  readonly id: string
  readonly name: string
  readonly source: CheckpointSource
  readonly includeRebuildable: boolean
}

interface Taking {
  readonly request: CheckpointRequest
  readonly row: ProjectRow
  readonly parts: CheckpointPart[]
  readonly warnings: string[]
  settings: CheckpointSettings | null
  begun: number
}

/**
 * The steps that make it, while nothing of the project runs. None when it is there already. It counts when its row is written, which is
 * when all of it is on the disk.
 */
export async function takeCheckpointSteps(
  project: string,
  request: CheckpointRequest,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  if ((await deps.store.checkpoints.find(project, request.id)) !== null) return []
  const row = await findProject(deps.store, project)
  const names = (await deps.engine.dataNames(project, forever)).filter((name) => !isCopiedData(name))
  const taking: Taking = { request, row, parts: [], warnings: [], settings: null, begun: 0 }
  return [
    { id: 'settings', title: 'Keep settings and secrets', run: () => begin(taking, deps) },
    ...names.map(
      (name): WorkStep => ({
        id: `copy:${name}`,
        title: `Copy the data ${name}`,
        run: (context) => copyOne(taking, name, context, deps),
      }),
    ),
    { id: 'source', title: 'Copy the source folder', run: (context) => copySource(taking, context, deps) },
    { id: 'keep', title: `Keep the checkpoint "${request.name}"`, run: () => keep(taking, deps) },
  ]
}

/** While everything still runs: every file is looked at for it. */
export async function roomSteps(
  project: string,
  request: CheckpointRequest,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  if ((await deps.store.checkpoints.find(project, request.id)) !== null) return []
  const run: WorkStep['run'] = async ({ signal }) => {
    const row = await findProject(deps.store, project)
    // Of an attempt that was cut off between data and row.
    await dropCheckpointData(project, request.id, deps)
    const { bytes } = await roomForCheckpoint(row, request, deps, signal)
    await requireRoomForData(project, bytes, 'The checkpoint', deps, signal)
  }
  return [{ id: 'room', title: 'Look whether there is room', run }]
}

/** What this is a checkpoint of: all of it is read before the first copy, while nothing runs that could change it. */
async function begin(taking: Taking, deps: OperationDeps): Promise<void> {
  const { request } = taking
  const row = await findProject(deps.store, taking.row.id)
  const { settings, warnings } = await checkpointSettingsOf(row, leftOut(row, request), deps.store)
  taking.settings = settings
  taking.warnings.push(...warnings, ...(await sourceWarnings(row, deps)))
  taking.begun = performance.now()
}

async function copyOne(taking: Taking, name: string, context: StepContext, { engine }: OperationDeps): Promise<void> {
  const { id: project } = taking.row
  const to = { project, name: checkpointData(taking.request.id, name) }
  const begun = performance.now()
  const copied = await engine.copyData({ project, name }, to, { onBytes: told(context, 'copied') }, context.signal)
  context.output({ stream: 'stdout', text: copiedText(copied, Math.round(performance.now() - begun)) })
  taking.parts.push({ name, ...copied })
}

/**
 * As a backup takes it: as the project’s user, SQLite databases whole, without what is made again. It is kept as that archive: not every
 * engine keeps holes, odd modes and names of a folder.
 */
async function copySource(taking: Taking, context: StepContext, deps: OperationDeps): Promise<void> {
  const { row, request } = taking
  const { signal } = context
  const account = await deps.provision(row.id, signal)
  if (!(await isThere(row.path))) {
    taking.warnings.push(`There is no source folder ${row.path}.`)
    return
  }
  const tree = readTree(account, row.path, { without: [...leftOut(row, request), ...localFolders], signal })
  const tell = told(context, 'copied')
  let bytes = 0
  const counted = passing(tree.bytes, (sum) => {
    bytes = sum
    tell(sum)
  })
  await deps.engine.writeData(row.id, checkpointSource(request.id), archiveOfStream(counted), signal)
  taking.warnings.push(...tree.warnings().slice(0, mostWarnings))
  taking.parts.unshift({ name: 'source', method: 'copy', bytes })
}

const mostWarnings = 50

async function keep({ row, request, parts, warnings, settings, begun }: Taking, { store }: OperationDeps) {
  if (settings === null) throw new TypeError('The checkpoint was not begun.')
  const milliseconds = Math.round(performance.now() - begun)
  const { id, name, source } = request
  await store.transaction(async (tx) => {
    const held = { id, project: row.id, name, source, engine: row.engine, parts, warnings, milliseconds }
    await tx.checkpoints.insert(held)
    await tx.secrets.put(row.id, checkpointSecret(id), JSON.stringify(settings))
  })
}

function leftOut(row: ProjectRow, { includeRebuildable }: CheckpointRequest): readonly string[] {
  return includeRebuildable ? [] : rebuildableOf(row)
}

/** Its data and its row: whatever there is of both. */
export async function forgetCheckpoint(project: string, id: string, deps: OperationDeps): Promise<void> {
  await deps.store.transaction((tx) => forgetCheckpointRow(tx, project, id))
  await dropCheckpointData(project, id, deps)
}

async function dropCheckpointData(project: string, id: string, deps: OperationDeps): Promise<void> {
  const names = await deps.engine.dataNames(project, forever)
  for (const name of names.filter((one) => checkpointOfData(one) === id))
    await dropData(project, name, { signal: forever, output: () => undefined }, deps)
}
