import type { Problem } from '@stackquay/contract'

export interface RestoredWriter {
  /**
   * Of a state that is put back from a backup: operations and runs that had not ended fail with this reason, deliveries that waited are
   * given up, shares are over. Answers whose end it was.
   */
  endUnderWay(problem: Problem): Promise<{ readonly operations: readonly string[]; readonly runs: readonly string[] }>
}
