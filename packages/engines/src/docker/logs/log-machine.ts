import type { Home } from '../../native/home.ts'
import type { LogKeeper } from '../../native/log-retention.ts'

/** What reading and writing logs needs to know of the machine. */
export interface LogMachine {
  readonly home: Home
  readonly logs: LogKeeper
  readonly onlyIndexed: boolean
  now(): Date
}
