import type { InstanceManifest, Manifest } from '@stackquay/archive'
import { type BackupTarget, type TargetBackup, visibleText } from '@stackquay/contract'
import type { BackupTargetRow } from '@stackquay/store'
import type { CopyIndex } from '@stackquay/targets'
import type { KnownCopies } from '../backups/known-copies.ts'

/** The target record: an allow-list, in which nothing is secret. */
export function targetView(row: BackupTargetRow, copies: Pick<KnownCopies, 'on'>): BackupTarget {
  const { id, name, kind, createdAt, checkedAt } = row
  const settings = row.settings as never
  return {
    id,
    name,
    kind,
    place: placeOf(row),
    folder: kind === 'folder' ? folderOf(settings) : null,
    s3: kind === 's3' ? s3Of(settings) : null,
    sftp: kind === 'sftp' ? sftpOf(settings) : null,
    copies: copies.on(id).filter(({ state }) => state === 'complete').length,
    createdAt,
    checkedAt,
  }
}

/** In the audit log and for people. */
export function placeOf({ kind, settings }: Pick<BackupTargetRow, 'kind' | 'settings'>): string {
  switch (kind) {
    case 'folder':
      return folderOf(settings as never).path
    case 's3': {
      const { endpoint, bucket, prefix } = s3Of(settings as never)
      return `${endpoint ?? 's3:/'}/${[bucket, prefix].filter((part) => part !== '').join('/')}`
    }
    case 'sftp': {
      const { host, port, user, path } = sftpOf(settings as never)
      return `sftp://${user}@${host.includes(':') ? `[${host}]` : host}:${port}/${path.replace(/^\//, '')}`
    }
    default:
      return kind satisfies never
  }
}

function folderOf({ path }: NonNullable<BackupTarget['folder']>): NonNullable<BackupTarget['folder']> {
  return { path }
}

function s3Of({ endpoint, region, bucket, prefix, pathStyle }: NonNullable<BackupTarget['s3']>) {
  return { endpoint, region, bucket, prefix, pathStyle }
}

function sftpOf({ host, port, user, path, hostKey }: NonNullable<BackupTarget['sftp']>) {
  return { host, port, user, path, hostKey }
}

interface Seen {
  /** Whether this instance copied it. */
  readonly own: boolean
  readonly opens: boolean
  readonly isHere: boolean
}

/** Texts come from whoever made the backup: they are shown with nothing that hides or turns text around. */
export function targetBackupView(
  { copiedAt }: Pick<CopyIndex, 'copiedAt'>,
  { id, project, engine, createdAt, note, source, parts }: Manifest,
  { own, opens, isHere }: Seen,
): TargetBackup {
  return {
    id,
    project: { id: project.id, slug: visibleText(project.slug), name: visibleText(project.name) },
    engine: visibleText(engine),
    createdAt,
    note: note === null ? null : visibleText(note),
    source,
    parts: parts.map((part) => part.id),
    sizeBytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    copiedAt,
    opens,
    own,
    here: isHere,
  }
}

/** Of an instance itself. */
export function targetInstanceBackupView(
  { copiedAt }: Pick<CopyIndex, 'copiedAt'>,
  { id, createdAt, note, source, parts }: InstanceManifest,
  { own, opens, isHere }: Seen,
): TargetBackup {
  return {
    id,
    project: null,
    engine: null,
    createdAt,
    note: note === null ? null : visibleText(note),
    source,
    parts: parts.map((part) => part.id),
    sizeBytes: parts[0].bytes,
    copiedAt,
    opens,
    own,
    here: isHere,
  }
}
