/** Results of a test run, the same for every runner. */
export interface TestResults {
  readonly cases: readonly CaseResult[]
  /** The file ended in the middle, or was longer than the limit: the cases are those before. */
  readonly incomplete: boolean
}

export interface CaseResult {
  readonly name: string
  /** Class, describe block or package; null at the top. */
  readonly group: string | null
  /** As the runner writes it: absolute, or relative to where it ran. Some runners (Go, cargo) name it for failed tests alone. */
  readonly file: string | null
  /** Of a failed test where it failed, when that is in `file`; else where it begins. */
  readonly line: number | null
  readonly outcome: 'passed' | 'failed' | 'skipped'
  readonly seconds: number | null
  /** The failure, or why it was skipped. Without colours, at most 4 KB. */
  readonly message: string | null
  /** The trace. Without colours, at most 16 KB. */
  readonly details: string | null
}

/** Thrown when a text is not in its format. */
export class UnreadableResults extends Error {
  override readonly name = 'UnreadableResults'
}

export const mostCases = 20_000

/** Whether two results, perhaps of two runs, are of one test. */
export function sameTest(
  one: Pick<CaseResult, 'name' | 'group' | 'file'>,
  other: Pick<CaseResult, 'name' | 'group' | 'file'>,
): boolean {
  const sameFile = one.file === other.file || one.file === null || other.file === null
  return one.name === other.name && one.group === other.group && sameFile
}
