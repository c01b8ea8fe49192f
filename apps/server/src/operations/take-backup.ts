import { arch } from 'node:process'
import { type ArchiveWriter, type Manifest, type PartContents, sealSettings } from '@stackquay/archive'
import { filesPart, localFolders, type ProjectPart, settingsPart } from '@stackquay/domain'
import { readTree } from '@stackquay/engines'
import type { StepContext, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { backupEvent } from '../backups/backup-event.ts'
import type { NewBackupKey } from '../backups/backup-keys.ts'
import { contentsOf, onlineArchive } from '../backups/data-programs.ts'
import { bytesText, requireRoom } from '../backups/free-room.ts'
import {
  type FoundParts,
  findParts,
  rebuildableOf,
  sizeOfParts,
  takingTitle,
  withChosen,
} from '../backups/project-parts.ts'
import { settingsOf } from '../backups/settings-part.ts'
import { version } from '../version.ts'
import type { OperationDeps } from './operation-deps.ts'
import { bringBack, pauseWorkloads } from './paused.ts'

/** A backup that is to be made, as its operation keeps it. */
export interface BackupRequest {
  /** Chosen when it was asked for, so that a second attempt makes the same one. */
  readonly id: string
  readonly source: Manifest['source']
  readonly note: string | null
  /** Ids of parts; absent: all that the project has. Settings are always among them: they open the data. */
  readonly parts?: readonly string[]
  readonly includeRebuildable?: boolean
  /** Whatever is stopped for a part comes back after it. Not so where the caller stopped all before. */
  readonly bringsBack: boolean
}

/** A backup while it is made, by steps of an operation. */
export interface TakenBackup {
  steps(): Promise<readonly WorkStep[]>
  /** Nothing is left of one that was not finished. */
  abandon(): Promise<void>
}

type Ask = Pick<ProjectOperation, 'id' | 'project'>

/** None of the steps when the backup is there already: an earlier attempt made it. */
export function takeBackup(operation: Ask, row: ProjectRow, request: BackupRequest, deps: OperationDeps): TakenBackup {
  let begun: Begun | null = null
  const { backups, config } = deps
  const open = async ({ parts }: FoundParts, { signal }: StepContext) => {
    await requireRoom(config.home, await sizeOfParts(row, parts, deps, signal), 'The backup')
    begun = { writer: await backups.folder.create(request.id), key: await backups.keys.create(request.id) }
  }
  const opened = () => {
    if (begun === null) throw new TypeError('The backup was not begun.')
    return begun
  }
  return {
    steps: async () => {
      if (backups.known.find(request.id) !== null) return []
      const found = withChosen(await findParts(row, deps, AbortSignal.timeout(lookMs)), request.parts)
      return [
        { id: 'room', title: 'Look whether there is room', run: (context) => open(found, context) },
        ...found.parts.map(
          (part): WorkStep => ({
            id: `part:${part.id}`,
            title: takingTitle(part),
            run: (context) => takePart({ operation, row, request, part, found, ...opened() }, context, deps),
          }),
        ),
        { id: 'manifest', title: 'Finish the backup', run: () => finish(row, request, opened(), deps) },
      ]
    },
    abandon: async () => {
      await begun?.writer.abandon()
    },
  }
}

const lookMs = 60_000

/** What takes longer to count is not compared later. */
const countMs = 60_000

interface Begun {
  readonly writer: ArchiveWriter
  readonly key: NewBackupKey
}

interface Taking extends Begun {
  readonly operation: Ask
  readonly row: ProjectRow
  readonly request: BackupRequest
  readonly part: ProjectPart
  readonly found: FoundParts
}

async function takePart(taking: Taking, context: StepContext, deps: OperationDeps): Promise<void> {
  switch (taking.part.id) {
    case settingsPart:
      return takeSettings(taking, deps)
    case filesPart:
      return takeFiles(taking, context, deps)
    default:
      return takeData(taking, context, deps)
  }
}

async function takeSettings({ row, request, part, writer, key }: Taking, { store, now }: OperationDeps): Promise<void> {
  const current = (await store.projects.find(row.id)) ?? row
  const { settings, warnings } = await settingsOf(current, leftOut(row, request), store)
  await writer.addSealed(newPart(part, 'json', now()), await sealSettings(settings, [key.recipient]))
  writer.describe(part.id, { warnings })
}

async function takeFiles({ row, request, part, writer }: Taking, context: StepContext, deps: OperationDeps) {
  const account = await deps.provision(row.id, context.signal)
  const { signal } = context
  const tree = readTree(account, row.path, { without: [...leftOut(row, request), ...localFolders], signal })
  const options = { signal, onBytes: told(context), countsTree: true }
  await writer.add(newPart(part, 'tar', deps.now()), tree.bytes, options)
  writer.describe(part.id, { warnings: tree.warnings().slice(0, mostWarnings) })
}

const mostWarnings = 200

async function takeData(taking: Taking, context: StepContext, deps: OperationDeps): Promise<void> {
  const { operation, row, request, part, found, writer } = taking
  const data = part.data ?? ''
  const programs = found.programs.find(({ workload }) => workload.ref.workload === data)
  const count = async () => {
    const runs = part.method === 'online' || (part.stops && request.bringsBack)
    if (programs === undefined || !runs) return null
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(countMs)])
    return contentsOf(programs, deps, signal).catch(() => null)
  }
  const before = await count()
  if (part.stops) await pauseWorkloads(operation, [data], context, deps)
  const { bytes, ...prefix } =
    part.method === 'online' && programs !== undefined
      ? onlineArchive(programs, deps, context.signal)
      : { bytes: deps.engine.readData(row.id, data, context.signal) }
  const options = { signal: context.signal, onBytes: told(context), ...prefix }
  await writer.add(newPart(part, 'tar', deps.now()), bytes, options)
  if (part.stops && request.bringsBack) await bringBack(operation, context, deps)
  // The same before and after: nothing wrote meanwhile, so a copy must show the same.
  const after = before === null ? null : await count()
  if (after !== null && JSON.stringify(before) === JSON.stringify(after))
    writer.describe(part.id, { contents: after as PartContents })
}

async function finish(row: ProjectRow, request: BackupRequest, { writer, key }: Begun, deps: OperationDeps) {
  const { store, backups } = deps
  const manifest = await writer.finish({
    createdAt: deps.now().toISOString(),
    note: request.note,
    source: request.source,
    engine: row.engine,
    project: { id: row.id, slug: row.slug, name: row.spec.name },
    stackquayVersion: version,
    architecture: arch,
    key: key.sealed,
  })
  await store.transaction(async (tx) => {
    await backups.keys.keep(tx, manifest.id, key)
    await tx.events.append(backupEvent('backup.created', manifest))
  })
  backups.known.put(manifest)
}

function newPart({ id, title, type, version: line, method }: ProjectPart, extension: 'tar' | 'json', takenAt: Date) {
  return { id, title, type, version: line, method, takenAt: takenAt.toISOString(), extension }
}

function leftOut(row: ProjectRow, { includeRebuildable }: BackupRequest): readonly string[] {
  return includeRebuildable === true ? [] : rebuildableOf(row)
}

/** How far a part is, told now and then. */
export function told({ output }: StepContext, verb = 'taken'): (bytes: number) => void {
  let next = Date.now() + everyMs
  return (bytes) => {
    if (Date.now() < next) return
    next = Date.now() + everyMs
    output({ stream: 'stdout', text: `${bytesText(bytes)} ${verb}\n` })
  }
}

const everyMs = 2000
