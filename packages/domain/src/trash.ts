import type { DatabaseSpec, ProjectSpec } from './spec.ts'
import { primaryDatabase, withPrimaryMarked } from './spec.ts'

/** Something in the trash, as far as the rules see it. */
export interface TrashDue {
  readonly id: string
  readonly state: 'moving' | 'kept' | 'restoring' | 'purging'
  /** RFC 3339 UTC. */
  readonly purgeAt: string
}

const dayMs = 24 * 60 * 60 * 1000

/** When something is deleted for good that is deleted now. */
export function purgeTime(now: Date, keepDays: number): string {
  return new Date(now.getTime() + keepDays * dayMs).toISOString()
}

/** What is to be purged now, by its time alone: what somebody restores or purges is somebody's. */
export function dueInTrash(items: readonly TrashDue[], now: Date): readonly string[] {
  return items.filter((item) => item.state === 'kept' && Date.parse(item.purgeAt) <= now.getTime()).map(({ id }) => id)
}

/** The settings with a database that was dropped; it has no prefix again where no other one took its place. */
export function withDatabaseAgain(spec: ProjectSpec, name: string, database: DatabaseSpec): ProjectSpec {
  const others = withPrimaryMarked(spec.databases)
  const primary = database.primary === true && primaryDatabase(others) === undefined
  return { ...spec, databases: { ...others, [name]: { ...database, primary } } }
}
