import type { CheckpointPart, CheckpointSource, EngineName } from '@stackquay/contract'

/** A checkpoint that is there whole: its row is written when all of it is on the disk. */
export interface CheckpointRow {
  readonly id: string
  readonly project: string
  readonly name: string
  readonly source: CheckpointSource
  /** Data of another engine cannot be put back. */
  readonly engine: EngineName
  readonly parts: readonly CheckpointPart[]
  /** What could not be taken along, a sentence each. */
  readonly warnings: readonly string[]
  /** From the first copy to the last. */
  readonly milliseconds: number
  readonly createdAt: string
}

export interface CheckpointReader {
  /** Of a project, newest first. */
  of(project: string): Promise<readonly CheckpointRow[]>
  find(project: string, id: string): Promise<CheckpointRow | null>
}

export interface CheckpointWriter {
  insert(checkpoint: Omit<CheckpointRow, 'createdAt'>): Promise<void>
  delete(project: string, id: string): Promise<void>
}
