import type { InstanceManifest } from '@stackquay/archive'
import { ProblemError, problemOf } from '@stackquay/contract'
import {
  type NewAuditEntry,
  openStore,
  type ProjectRow,
  type ProjectUser,
  type SealingKey,
  type Store,
  writeCheckpoint,
} from '@stackquay/store'
import { isThere } from '../projects/files-of.ts'
import type { StagedState } from './restore-folder.ts'

/** Whose act it is, and what it replaces. */
export interface Restoring {
  readonly key: SealingKey
  readonly now: () => Date
  entry(act: Pick<NewAuditEntry, 'action' | 'target' | 'changes'>): NewAuditEntry
  /** For the entry: the end of the audit log that is replaced, and the backup that was made of it. */
  readonly replaced?: object
  /** Users of projects in the state that is replaced: their numbers are not given again. */
  readonly users?: readonly ProjectUser[]
}

/**
 * Makes the database of a backup one that a service of now may open: brought to the present schema, with nothing under way, and with an
 * entry that says what was restored. Its checkpoint begins where the signed manifest says that its log ended, so what was cut off
 * or added since would show.
 */
export async function prepareRestored(
  { database, checkpoint }: Pick<StagedState, 'database' | 'checkpoint'>,
  manifest: InstanceManifest,
  restoring: Restoring,
): Promise<void> {
  const { key, now } = restoring
  const { seq, hash } = manifest.audit
  await writeCheckpoint(checkpoint, key, { seq, hash, time: manifest.createdAt })
  const store = await openStore({ file: database, sealingKey: key, clock: { now }, checkpointFile: checkpoint })
  try {
    await settle(store, manifest, restoring)
  } finally {
    await store.close()
  }
}

async function settle(
  store: Store,
  { id, createdAt, schema, stackquayVersion }: InstanceManifest,
  { entry, replaced = {}, users = [] }: Restoring,
): Promise<void> {
  const projects = await store.projects.all()
  const missing = await withoutFolder(projects)
  const ownUsers = await store.projectUsers.all()
  const known = new Set(ownUsers.map(({ number }) => number))
  await store.transaction(async (tx) => {
    const ended = await tx.restored.endUnderWay(cutOff(createdAt))
    for (const row of projects) {
      // Whether its creation went on is not known here: if so, it is one that this state does not know.
      if (row.phase === 'creating') await tx.projects.delete(row.id)
      else if (row.phase === 'deleting') await tx.projects.setLifecycle(row.id, { phase: 'ready', desired: 'stopped' })
      // Its databases would begin anew, empty.
      else if (missing.includes(row)) await tx.projects.setLifecycle(row.id, { desired: 'stopped' })
    }
    // One that waited for a project then has perhaps got one since.
    for (const { number, isSpare } of ownUsers) if (isSpare) await tx.projectUsers.dropSpare(number)
    // In their order, so each keeps its number.
    for (const { number, name, ...user } of users)
      if (!known.has(number)) await tx.projectUsers.add({ ...user, project: null, name: () => name, before: null })
    await tx.instance.set('restored', id)
    const changes = {
      createdAt,
      schema,
      stackquayVersion,
      ended,
      missing: missing.map(({ slug }) => slug),
      ...replaced,
    }
    await tx.audit.append(entry({ action: 'instance.restore', target: id, changes }))
  })
}

/** Projects whose source folder is not on this machine. */
export async function withoutFolder(projects: readonly ProjectRow[]): Promise<readonly ProjectRow[]> {
  const there = await Promise.all(projects.map(({ path }) => isThere(path)))
  return projects.filter(({ phase }, at) => phase === 'ready' && there[at] === false)
}

function cutOff(createdAt: string) {
  return problemOf(
    new ProblemError(
      'interrupted',
      `It was under way at ${createdAt}, when the backup was made that the instance was restored from.`,
    ),
  )
}
