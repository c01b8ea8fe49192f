/** A query that people of a project keep. */
export interface SavedQueryRow {
  readonly id: string
  readonly project: string
  readonly name: string
  /** The database that it is for; it may be gone. */
  readonly database: string | null
  readonly sql: string
  readonly createdAt: string
  readonly updatedAt: string
}

export interface SavedQueryReader {
  /** By name. */
  of(project: string): Promise<readonly SavedQueryRow[]>
  find(project: string, id: string): Promise<SavedQueryRow | null>
}

export interface SavedQueryWriter {
  insert(query: Omit<SavedQueryRow, 'createdAt' | 'updatedAt'>): Promise<void>
  update(query: Pick<SavedQueryRow, 'id' | 'project' | 'name' | 'database' | 'sql'>): Promise<void>
  delete(project: string, id: string): Promise<void>
}
