import type { Terminal } from '@stackquay/contract'

export interface TerminalRow
  extends Pick<
    Terminal,
    'id' | 'project' | 'workload' | 'title' | 'exitCode' | 'signal' | 'cause' | 'actor' | 'createdAt' | 'endedAt'
  > {
  /** Id of the user who opened it. */
  readonly owner: string
}

export interface TerminalReader {
  find(id: string): Promise<TerminalRow | null>
  /** Oldest first. */
  of(project: string): Promise<readonly TerminalRow[]>
  all(): Promise<readonly TerminalRow[]>
}

export interface TerminalWriter {
  insert(terminal: Pick<TerminalRow, 'id' | 'project' | 'workload' | 'title' | 'actor' | 'owner'>): Promise<TerminalRow>
  /** Only the first call counts. */
  ended(
    id: string,
    end: { exitCode: number | null; signal: string | null; cause: Terminal['cause']; at: string },
  ): Promise<void>
  delete(id: string): Promise<void>
}
