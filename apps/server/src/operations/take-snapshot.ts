import type { SnapshotSource } from '@stackquay/contract'
import { type SnapshotSubject, secretsOfPart, snapshotSecret } from '@stackquay/domain'
import type { StepContext } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow, SnapshotRow, Transaction } from '@stackquay/store'
import { copyKept } from './copy-kept.ts'
import { forever, type OperationDeps } from './operation-deps.ts'
import { dropData } from './put-back.ts'
import { secretTexts } from './secret-texts.ts'

/** A snapshot that is to be made, as its operation keeps it. */
export interface SnapshotRequest {
  /** Chosen when it was asked for, so that a second attempt makes the same one. */
  readonly id: string
  readonly name: string
  readonly source: SnapshotSource
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
  const texts = await secretTexts(row.id, { id: subject.part, type: subject.type }, (name) => name, store)
  const kept = (await store.keptData.of(row.id)).find(({ name }) => name === subject.data)
  const copied = await copyKept(operation, row, { from: subject.data, to }, context, deps)
  const { name: database, data, part, type } = subject
  const version = subject.kind === 'service' ? (kept?.version ?? subject.version) : subject.version
  await store.transaction(async (tx) => {
    await tx.snapshots.insert({ ...request, ...copied, project: row.id, database, data, part, type, version })
    for (const [name, text] of texts) await tx.secrets.put(row.id, snapshotSecret(request.id, name), text)
  })
}

/** Its data and its row: whatever there is of both. */
export async function forgetSnapshot(project: string, id: string, deps: OperationDeps): Promise<void> {
  const found = await deps.store.snapshots.find(project, id)
  if (found !== null) await deps.store.transaction((tx) => forgetRow(tx, found))
  await dropSnapshotData(project, id, deps)
}

export async function forgetRow(tx: Transaction, { project, id, part, type }: SnapshotRow): Promise<void> {
  await tx.snapshots.delete(project, id)
  for (const name of secretsOfPart({ id: part, type })) await tx.secrets.delete(project, snapshotSecret(id, name))
}

async function dropSnapshotData(project: string, id: string, deps: OperationDeps): Promise<void> {
  if (!(await deps.engine.dataNames(project, forever)).includes(id)) return
  await dropData(project, id, { signal: forever, output: () => undefined }, deps)
}
