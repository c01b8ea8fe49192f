import type { Backup } from '@stackquay/contract'
import type { BackupKeys } from './backup-keys.ts'
import type { KnownBackup } from './known-backups.ts'

/** The backup record: an allow-list. What was counted in its parts stays with the service. */
export function backupView(
  { manifest, verified }: KnownBackup,
  { keys, isThere }: { readonly keys: Pick<BackupKeys, 'opensHere'>; isThere(project: string): boolean },
): Backup {
  const { id, project, engine, createdAt, note, source, parts } = manifest
  return {
    id,
    project: { id: project.id, slug: project.slug, name: project.name, deleted: !isThere(project.id) },
    engine,
    createdAt,
    note,
    source,
    sizeBytes: parts.reduce((sum, part) => sum + part.bytes, 0),
    parts: parts.map((part) => ({
      id: part.id,
      title: part.title,
      type: part.type,
      version: part.version,
      method: part.method,
      bytes: part.bytes,
      contentBytes: part.contentBytes,
      sha256: part.sha256,
      takenAt: part.takenAt,
      warnings: [...part.warnings],
    })),
    verified,
    opensHere: keys.opensHere(manifest),
  }
}
