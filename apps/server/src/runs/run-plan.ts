import type { ResultFormat } from '@stackquay/catalog'
import type { RunRow } from '@stackquay/store'

/** What a run remembers of itself, so that it can be taken up after a crash. Never a secret: it stands in the row. */
export interface RunPlan {
  /** How often its preparation was begun. */
  readonly attempts: number
  /** Its command was handed to the engine, or was about to be: whether there is one, the engine knows. */
  readonly begun: boolean
  /** Somebody asked for its end. */
  readonly cancelled: boolean
  /** Absolute path of the folder it runs in; its tests name their files from there. */
  readonly cwd: string | null
  /** Of a cron job: the time for which it was started, null when a person started it. */
  readonly dueAt: string | null
  /** Of a cron job: after so many seconds it is ended. */
  readonly limitSeconds: number | null
  /** Of a test run: how its results are read. */
  readonly results: { readonly format: ResultFormat; readonly file: string | null } | null
}

export const newPlan: RunPlan = {
  attempts: 0,
  begun: false,
  cancelled: false,
  cwd: null,
  dueAt: null,
  limitSeconds: null,
  results: null,
}

export function planOf(row: Pick<RunRow, 'plan'>): RunPlan {
  return { ...newPlan, ...row.plan }
}
