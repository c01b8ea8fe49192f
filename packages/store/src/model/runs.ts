import type { Run } from '@stackquay/contract'

export interface RunRow
  extends Pick<
    Run,
    | 'id'
    | 'project'
    | 'kind'
    | 'name'
    | 'label'
    | 'runtime'
    | 'state'
    | 'phase'
    | 'filter'
    | 'exitCode'
    | 'signal'
    | 'error'
    | 'actor'
    | 'createdAt'
    | 'startedAt'
    | 'finishedAt'
  > {
  /** Names the source it ran on; null when it is unknown. */
  readonly source: string | null
  readonly counts: Run['tests']
  readonly requestId: string | null
  /** Needed to resume the run after a crash; never a secret. */
  readonly plan: Readonly<Record<string, unknown>>
}

export type NewRun = Pick<
  RunRow,
  'id' | 'project' | 'kind' | 'name' | 'label' | 'runtime' | 'filter' | 'actor' | 'requestId' | 'plan'
>

export type RunChange = Partial<
  Pick<
    RunRow,
    'state' | 'phase' | 'source' | 'exitCode' | 'signal' | 'error' | 'counts' | 'startedAt' | 'finishedAt' | 'plan'
  >
>

export interface TestCaseRow {
  readonly position: number
  readonly name: string
  readonly group: string | null
  readonly file: string | null
  readonly line: number | null
  readonly outcome: 'passed' | 'failed' | 'skipped'
  readonly seconds: number | null
  readonly message: string | null
  readonly details: string | null
  readonly flaky: boolean
}

export interface RunReader {
  find(id: string): Promise<RunRow | null>
  /** Newest first. */
  list(options: {
    project: string
    limit: number
    cursor?: string
    kind?: Run['kind']
    name?: string
    state?: Run['state']
  }): Promise<readonly RunRow[]>
  /** The newest run of each action or suite. */
  lastOf(project: string, kind: Run['kind']): Promise<readonly RunRow[]>
  /** Oldest first. */
  unfinished(): Promise<readonly RunRow[]>
  /** Of all that are known, for clean-up. */
  ids(): Promise<readonly string[]>
  cases(
    run: string,
    options: { limit: number; after?: number; outcome?: TestCaseRow['outcome'] | 'flaky' },
  ): Promise<readonly TestCaseRow[]>
  /** Which tests of a suite passed or failed on this very source, in whatever run; each outcome once. */
  outcomesOn(
    project: string,
    name: string,
    source: string,
  ): Promise<readonly Pick<TestCaseRow, 'name' | 'group' | 'file' | 'outcome'>[]>
}

export interface RunWriter {
  insert(run: NewRun): Promise<RunRow>
  /** Throws `ChangedError` when it is not there any more. */
  update(id: string, change: RunChange): Promise<RunRow>
  /** Replaces the tests of a run. */
  putCases(run: string, cases: readonly Omit<TestCaseRow, 'position'>[]): Promise<void>
  /** Forgets ended runs but the newest `count` of a name. Answers the ids of those forgotten, at most a thousand. */
  keepNewest(project: string, kind: Run['kind'], name: string, count: number): Promise<readonly string[]>
}
