/** What the server of a database wrote of its changes, from one moment on. */
export interface ArchiveRow {
  /** Also the name of its kept data. */
  readonly id: string
  readonly project: string
  /** Name of the database. */
  readonly database: string
  /** Name of the kept data whose server writes it. */
  readonly data: string
  readonly keepDays: number
  readonly begunAt: string
  /** Null while it is written. */
  readonly endedAt: string | null
}

export interface ArchiveReader {
  /** Databases that have any, also such that are gone. */
  databases(): Promise<readonly { readonly project: string; readonly database: string }[]>
  /** Of a project, oldest first. */
  of(project: string): Promise<readonly ArchiveRow[]>
}

export interface ArchiveWriter {
  begin(archive: Pick<ArchiveRow, 'id' | 'project' | 'database' | 'data' | 'keepDays'>): Promise<void>
  setKeep(id: string, keepDays: number): Promise<void>
  /** Of this data, the one that is written; with `next`, another one of that id is begun in its place. Where none is written, nothing is done. */
  end(project: string, data: string, next?: string): Promise<void>
  delete(id: string): Promise<void>
}
