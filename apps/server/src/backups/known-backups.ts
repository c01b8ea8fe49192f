import type { ArchiveFolder, Manifest } from '@stackquay/archive'
import type { BackupVerification } from '@stackquay/contract'
import type { Store } from '@stackquay/store'

export interface KnownBackup {
  readonly manifest: Manifest
  /** What the last restore drill found; null when there was none. */
  readonly verified: BackupVerification | null
}

/** The backups of this instance, of deleted projects too, as their manifests say; newest first. */
export interface KnownBackups {
  all(): readonly KnownBackup[]
  of(project: string): readonly KnownBackup[]
  find(id: string): KnownBackup | null
  /** One that is there now, or whose manifest is another one now. */
  put(manifest: Manifest): void
  forget(id: string): void
  verified(id: string, found: BackupVerification): void
}

export async function openKnownBackups(
  folder: ArchiveFolder,
  store: Store,
  onError: (error: unknown, what: string) => void,
): Promise<KnownBackups> {
  const checks = await store.backupChecks.all()
  const manifests = await folder.list((id, error) => onError(error, `reading the backup ${id}`))
  let known = manifests.map((manifest): KnownBackup => ({ manifest, verified: checks.get(manifest.id) ?? null }))
  const without = (id: string) => known.filter(({ manifest }) => manifest.id !== id)
  const find = (id: string) => known.find(({ manifest }) => manifest.id === id) ?? null
  known.sort(newestFirst)

  return {
    all: () => known,
    of: (project) => known.filter(({ manifest }) => manifest.project.id === project),
    find,
    put: (manifest) => {
      const verified = find(manifest.id)?.verified ?? null
      known = [...without(manifest.id), { manifest, verified }].sort(newestFirst)
    },
    forget: (id) => {
      known = without(id)
    },
    verified: (id, verified) => {
      known = known.map((one) => (one.manifest.id === id ? { ...one, verified } : one))
    },
  }
}

/** By when they were made. Ids sort by that too, but those of another machine by its clock. */
function newestFirst({ manifest: one }: KnownBackup, { manifest: other }: KnownBackup): number {
  return placeOf(one) < placeOf(other) ? 1 : -1
}

/** Where it stands in the list: the cursor of a page. */
export function placeOf({ createdAt, id }: Pick<Manifest, 'createdAt' | 'id'>): string {
  return `${createdAt} ${id}`
}
