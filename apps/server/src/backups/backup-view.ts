import { type Backup, visibleText } from '@stackquay/contract'
import type { BackupKeys } from './backup-keys.ts'
import type { KnownBackup } from './known-backups.ts'
import { copiesView, type KnownCopies } from './known-copies.ts'

/**
 * The backup record: an allow-list. What was counted in its parts stays with the service. Texts may come from an archive of
 * somebody else, and warnings name files of a project: they are shown as they are, with nothing that hides or turns text around.
 */
export function backupView(
  { manifest, verified }: KnownBackup,
  {
    keys,
    copies,
    isThere,
  }: {
    readonly keys: Pick<BackupKeys, 'opensHere'>
    readonly copies: Pick<KnownCopies, 'of' | 'nameOf'>
    isThere(project: string): boolean
  },
): Backup {
  const { id, project, engine, createdAt, note, source, parts } = manifest
  return {
    id,
    project: { id: project.id, slug: project.slug, name: visibleText(project.name), deleted: !isThere(project.id) },
    engine: visibleText(engine),
    createdAt,
    note: note === null ? null : visibleText(note),
    source,
    sizeBytes: parts.reduce((sum, part) => sum + part.bytes, 0),
    parts: parts.map((part) => ({
      id: part.id,
      title: visibleText(part.title),
      type: visibleText(part.type),
      version: part.version === null ? null : visibleText(part.version),
      method: part.method,
      bytes: part.bytes,
      contentBytes: part.contentBytes,
      sha256: part.sha256,
      takenAt: part.takenAt,
      warnings: part.warnings.map(visibleText),
    })),
    copies: copiesView(id, copies),
    verified:
      verified === null
        ? null
        : { ...verified, checks: verified.checks.map((one) => ({ ...one, detail: visibleText(one.detail) })) },
    opensHere: keys.opensHere(manifest),
  }
}
