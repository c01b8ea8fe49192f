import type { ArchiveMark } from '@stackquay/catalog'
import { ProblemError, type SnapshotSource } from '@stackquay/contract'
import { type SnapshotSubject, snapshotSecret } from '@stackquay/domain'
import type { StepContext } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { askArchive } from '../point-in-time/archive-program.ts'
import { forgetRow } from '../snapshots/forget-row.ts'
import { howToCopy } from '../snapshots/how-to-copy.ts'
import { copyKept } from './copy-kept.ts'
import { forever, type OperationDeps } from './operation-deps.ts'
import { dropData } from './put-back.ts'
import { secretTexts } from './secret-texts.ts'

/** A snapshot that is to be made, as its operation keeps it. */
export interface SnapshotRequest {
  /** Chosen when it was asked for, so that a second attempt makes the same one. */
  readonly id: string
  readonly name: string
  readonly source: SnapshotSource | 'base'
  /** The archive that it is a base of. */
  readonly archive?: string
}

/** It counts when its row is written, which is when its data is on the disk. Nothing is done when it is there already. */
export async function takeSnapshot(
  operation: Pick<ProjectOperation, 'id' | 'project'>,
  row: ProjectRow,
  { subject, request }: { readonly subject: SnapshotSubject; readonly request: SnapshotRequest },
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { store } = deps
  if ((await store.snapshots.find(row.id, request.id)) !== null) return
  const to = { project: row.id, name: request.id }
  // Of an attempt that was cut off between data and row.
  await dropSnapshotData(row.id, request.id, deps)
  const piece = request.archive === undefined ? null : await markBase(row, subject, request.archive, context, deps)
  const texts = await secretTexts(row.id, { id: subject.part, type: subject.type }, (name) => name, store)
  const kept = (await store.keptData.of(row.id)).find(({ name }) => name === subject.data)
  const copied = await copyKept(operation, row, { from: subject.data, to }, context, deps)
  const { name: database, data, part, type } = subject
  const version = subject.kind === 'service' ? (kept?.version ?? subject.version) : subject.version
  await store.transaction(async (tx) => {
    await tx.snapshots.insert({ ...request, ...copied, piece, project: row.id, database, data, part, type, version })
    for (const [name, text] of texts) await tx.secrets.put(row.id, snapshotSecret(request.id, name), text)
  })
}

/** The first piece of the log that it needs. A base is made of a server that runs: it is not stopped for one. */
async function markBase(
  row: ProjectRow,
  { name, title, data, version }: SnapshotSubject,
  archive: string,
  { signal }: StepContext,
  deps: OperationDeps,
): Promise<string> {
  const how = await howToCopy(row, data, deps, { signal, isShown: false })
  const isOpen = (await deps.store.archives.of(row.id)).some(({ id, endedAt }) => id === archive && endedAt === null)
  const wanted = { database: name, archive, version: version ?? '', isWritten: true }
  const mark = isOpen && how.manner === 'live' ? (await deps.resolver.archive(row, wanted))?.mark : null
  if (mark == null)
    throw new ProblemError('conflict', `${title} does not run as its settings say, so no base is made of it now.`, {
      hint: 'Start it, or apply its settings.',
    })
  const what = `Marking the log of ${title}`
  return (await askArchive<ArchiveMark>(mark, { project: row.id, what, signal }, deps)).piece
}

/** Its data and its row: whatever there is of both. */
export async function forgetSnapshot(project: string, id: string, deps: OperationDeps): Promise<void> {
  const found = await deps.store.snapshots.find(project, id)
  if (found !== null) await deps.store.transaction((tx) => forgetRow(tx, found))
  await dropSnapshotData(project, id, deps)
}

async function dropSnapshotData(project: string, id: string, deps: OperationDeps): Promise<void> {
  if (!(await deps.engine.dataNames(project, forever)).includes(id)) return
  await dropData(project, id, { signal: forever, output: () => undefined }, deps)
}
