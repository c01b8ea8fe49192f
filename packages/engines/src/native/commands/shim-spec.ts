import type { StopPolicy } from '@stackquay/engine-api'
import type { TerminalSize } from '@stackquay/engine-api/commands'

/** What the engine sends to a shim through its standard input; never on disk, because it holds secrets. */
export interface ShimSpec {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly terminal: TerminalSize | null
  readonly timeoutSeconds: number | null
  readonly idleSeconds: number | null
  readonly stop: StopPolicy
  readonly segmentBytes: number
  /** The user that the shim becomes when the program runs; null: it keeps its own. */
  readonly user: { readonly uid: number; readonly gid: number } | null
  /** A process of the engine between shim and program reports signals as exit codes. */
  readonly signalsAreCodes: boolean
  /** The file that counts what was ended in its control group for its memory; null where there is none. */
  readonly memoryEvents: string | null
  /** For the module that starts it, where the program is no process of this machine. */
  readonly elsewhere: unknown
  /** Begins the run markers of all that it starts. */
  readonly markers: string
}

/** Descriptors a shim is started with. */
export const DESCRIPTORS = {
  segments: [3, 4, 5, 6],
  state: 7,
  keys: 8,
  control: 9,
  /** Pipes of the program: the ends to read from, and those it writes to. */
  output: { stdout: 10, stderr: 11 },
  input: { stdout: 12, stderr: 13 },
} as const

/** What the shim answers on its standard output, in one line. */
export type ShimAnswer =
  | { readonly started: Record<string, never> }
  | { readonly failed: { readonly code: string; readonly message: string } }
