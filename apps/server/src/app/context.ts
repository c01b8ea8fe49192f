import type { Logger } from 'pino'
import type { Config } from '../config.ts'

/** Where the app runs, the same for all of its parts. */
export interface AppContext {
  readonly config: Config
  readonly log: Logger
  /** Words for the person at the terminal. */
  say(text: string): void
  readonly now: () => Date
  /** For what fails while nobody waits for it: `what` is what was being done. */
  onError(error: unknown, what: string): void
  /** Closes the app and opens another in its place; null where nobody does that. */
  readonly restart: (() => void) | null
  /** How often it is looked for projects that are to sleep or wake; undefined: as usual. */
  readonly sleepLookMs?: number | undefined
  /** Aborted when the app has ended its work. */
  readonly signal: AbortSignal
}
