import type { ChildProcess } from 'node:child_process'
import type { ProjectRow } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import type { Exec } from '../terminals/exec.ts'
import type { Terminals } from '../terminals/terminals.ts'
import type { Forwarding } from './forwarding.ts'

/** A connection whose caller came in, and what can be done over it in its project. */
export interface Entered {
  readonly project: Pick<ProjectRow, 'id' | 'slug'>
  /** The project as it is now. Throws when it is gone. */
  projectNow(): Promise<ProjectRow>
  /** The runtime, database or service of the user name; undefined: the first runtime. */
  readonly workload: string | undefined
  /** The user name. */
  readonly user: string
  /** Its signal aborts when the connection ends. */
  readonly context: RequestContext
  readonly terminals: Terminals
  readonly exec: Exec
  readonly forwarding: Forwarding
  /** argv of a shell of the environment that runs a line. */
  shellArgv(line: string): Promise<readonly string[]>
  /** argv of a shell that reads lines from its standard input. */
  plainShellArgv(): Promise<readonly string[]>
  /** Starts the process of an SFTP session. */
  startSftp(): Promise<ChildProcess>
  /** Once a channel has closed: whether the connection was lost with it, and was not ended by the client. */
  isLost(): Promise<boolean>
  onError(error: unknown, what: string): void
}
