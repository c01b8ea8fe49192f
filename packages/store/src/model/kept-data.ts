export interface KeptData {
  /** As the engine calls the data. */
  readonly name: string
  readonly version: string
  /** RFC 3339 UTC; null while something uses it. */
  readonly keptAt: string | null
}

export interface KeptDataReader {
  of(project: string): Promise<readonly KeptData[]>
}

export interface KeptDataWriter {
  /** This version is about to run over the data. */
  writtenBy(project: string, name: string, version: string): Promise<void>
  /** From now on the data is unused, or in use again. No change for data that was never written. */
  setKept(project: string, name: string, isKept: boolean): Promise<void>
  delete(project: string, name: string): Promise<void>
}
