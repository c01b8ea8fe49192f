import { signalOf, takesVariable } from '@stackquay/domain'
import type { PseudoTtyInfo, ServerChannel, Session } from 'ssh2'
import type { Entered } from './entered.ts'
import { type RunningProgram, runProgram } from './program.ts'
import { serveSftp } from './sftp.ts'
import { showShell } from './shell.ts'
import type { TerminalSocket } from './terminal-socket.ts'

/** What was said before something runs. */
export interface Wish {
  readonly env: Readonly<Record<string, string>>
  readonly size: { readonly cols: number; readonly rows: number }
}

const mostVariables = 32

/** One session of a connection: a shell, a program or a subsystem, of which there is one at most. */
export function serveSession(session: Session, entered: Entered): void {
  const env: Record<string, string> = {}
  let pty: PseudoTtyInfo | null = null
  let shown: TerminalSocket | null = null
  let program: RunningProgram | null = null
  const { onError } = entered
  const carryOut = (work: Promise<void>) => void work.catch((error: unknown) => onError(error, 'a session of SSH'))
  const wish = (): Wish => ({ env, size: { cols: pty?.cols || 80, rows: pty?.rows || 24 } })

  session.on('env', (accept, reject, { key, val }) => {
    const isKnown = takesVariable(key, val) && (key in env || Object.keys(env).length < mostVariables)
    if (isKnown) env[key] = val
    ;(isKnown ? accept : reject)?.()
  })
  session.on('pty', (accept, _reject, info) => {
    pty = info
    const { term } = info as PseudoTtyInfo & { readonly term?: string }
    if (term !== undefined && takesVariable('TERM', term)) env.TERM = term
    accept?.()
  })
  session.on('window-change', (accept, _reject, { cols, rows }) => {
    if (pty !== null) pty = { ...pty, cols, rows }
    shown?.resize(cols, rows)
    accept?.()
  })
  session.on('signal', (accept, reject, { name }) => {
    const signal = signalOf(name.replace(/^SIG/, ''))
    if (signal === null || program === null) return reject?.()
    program.signal(signal)
    accept?.()
  })

  const terminal = (channel: ServerChannel, command: string | null, existing: string | null) =>
    carryOut(
      showShell(entered, channel, { ...wish(), command, existing }, (socket) => {
        shown = socket
      }),
    )
  const plain = (channel: ServerChannel, argv: () => Promise<readonly string[]>) =>
    carryOut(
      runProgram(entered, channel, { argv, env }, (started) => {
        program = started
      }),
    )
  session.on('shell', (accept) => {
    const channel = accept()
    if (pty !== null) return terminal(channel, null, null)
    plain(channel, () => entered.plainShellArgv())
  })
  session.on('exec', (accept, _reject, { command }) => {
    const channel = accept()
    if (pty !== null) return terminal(channel, command, null)
    plain(channel, () => entered.shellArgv(command))
  })
  session.on('subsystem', (accept, reject, { name }) => {
    if (name === 'sftp') return carryOut(serveSftp(entered, accept()))
    if (/^term_[a-z0-9]{1,40}$/.test(name) && pty !== null) return terminal(accept(), null, name)
    reject?.()
  })
}
