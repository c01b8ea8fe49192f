import { signalOf, takesVariable } from '@stackquay/domain'
import type { SshChannel } from './channel.ts'
import type { Entered } from './entered.ts'
import { type RunningProgram, runProgram } from './program.ts'
import type { Start } from './protocol/messages.ts'
import { type FilePipes, serveSftp } from './sftp.ts'
import { showShell } from './shell.ts'
import type { TerminalSocket } from './terminal-socket.ts'

/** What was said before something runs. */
export interface Wish {
  readonly env: Readonly<Record<string, string>>
  readonly size: { readonly cols: number; readonly rows: number }
}

/** What a client tells of what runs. */
export interface OpenSession {
  resize(cols: number, rows: number): void
  signal(name: string): void
}

const mostVariables = 32

/** A shell, a program, files or a terminal that goes on, in a channel of its own. */
export function serveSession(
  entered: Entered,
  channel: SshChannel,
  { program, env: sent, pty }: Start,
  pipes: FilePipes,
): OpenSession {
  const { onError } = entered
  const env = Object.fromEntries(
    Object.entries(sent)
      .filter(([name, value]) => takesVariable(name, value))
      .slice(0, mostVariables),
  )
  let shown: TerminalSocket | null = null
  let running: RunningProgram | null = null
  const carryOut = (work: Promise<void>) => void work.catch((error: unknown) => onError(error, 'a session of SSH'))
  const terminal = (command: string | null, existing: string | null) => {
    const size = { cols: pty?.cols || 80, rows: pty?.rows || 24 }
    carryOut(
      showShell(entered, channel, { env, size, command, existing }, (socket) => {
        shown = socket
      }),
    )
  }
  const plain = (argv: () => Promise<readonly string[]>) =>
    carryOut(
      runProgram(entered, channel, { argv, env }, (started) => {
        running = started
      }),
    )

  if (program.kind === 'files') carryOut(serveSftp(entered, channel, pipes))
  else if (program.kind === 'terminal') terminal(null, program.id)
  else if (program.kind === 'command')
    pty === null ? plain(() => entered.shellArgv(program.command)) : terminal(program.command, null)
  else pty === null ? plain(() => entered.plainShellArgv()) : terminal(null, null)
  return {
    resize: (cols, rows) => shown?.resize(cols, rows),
    signal: (name) => {
      const signal = signalOf(name.replace(/^SIG/, ''))
      if (signal !== null) running?.signal(signal)
    },
  }
}
