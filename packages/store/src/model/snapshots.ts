import type { CopyMethod, SnapshotSource } from '@stackquay/contract'

/** A snapshot whose data is there whole: its row is written when that is on the disk. */
export interface SnapshotRow {
  /** Also the name of its kept data. */
  readonly id: string
  readonly project: string
  /** Name of the database or service, as it was asked for. */
  readonly database: string
  /** Name of the kept data that it is a copy of. */
  readonly data: string
  readonly part: string
  readonly type: string
  /** The release line that wrote it; null where nobody knows. */
  readonly version: string | null
  readonly name: string
  /** `base`: of an archive of changes. */
  readonly source: SnapshotSource | 'base'
  readonly method: CopyMethod
  readonly bytes: number
  readonly milliseconds: number
  readonly createdAt: string
  /** The archive that it is a base of, and the first piece of its log that it needs. */
  readonly archive: string | null
  readonly piece: string | null
}

export interface SnapshotReader {
  /** Of a project, newest first. */
  of(project: string): Promise<readonly SnapshotRow[]>
  find(project: string, id: string): Promise<SnapshotRow | null>
}

export interface SnapshotWriter {
  insert(
    snapshot: Omit<SnapshotRow, 'createdAt' | 'archive' | 'piece'> & Partial<Pick<SnapshotRow, 'archive' | 'piece'>>,
  ): Promise<SnapshotRow>
  delete(project: string, id: string): Promise<void>
}
