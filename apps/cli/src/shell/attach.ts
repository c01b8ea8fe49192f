import type { Client, FollowState, TerminalEnd } from '@stackquay/client'
import type { Context } from '../context.ts'
import { writeAll } from '../output/write-all.ts'
import { escapeKeys } from './escape-key.ts'
import { enterRawMode } from './raw-mode.ts'
import { terminalModes } from './terminal-modes.ts'
import { withoutQuestions } from './terminal-questions.ts'

/** How a person left a terminal: its program ended, they left it running, or ended it. */
export type Departure =
  | { readonly kind: 'ended'; readonly exit: TerminalEnd }
  | { readonly kind: 'detached' }
  | { readonly kind: 'killed' }

/**
 * Connects this terminal with that of a project until one of them is done. Whatever happens here, the mode of this
 * terminal is as it was; whatever happens to the connection, the other one goes on, and the screen with it.
 */
export async function attach(
  context: Context,
  client: Client,
  project: string,
  term: string,
  { replayed }: { readonly replayed: boolean },
): Promise<Departure> {
  const { world } = context
  const { stdin, stdout } = world
  const over = new AbortController()
  const modes = terminalModes()
  const typed = escapeKeys()
  let left: Departure | null = null
  /** From this offset on output is new; what stood before it was answered already. */
  let live: number | null = null
  let at = 0
  const leave = (departure: Departure) => {
    left ??= departure
    over.abort()
  }
  const session = client.followTerminal(project, term, {
    ...sizeOf(stdout),
    signal: over.signal,
    onFrame: (frame) => {
      if (frame.type !== 'start' && frame.type !== 'gap') return
      if (frame.type === 'start' && live === null) live = replayed ? frame.terminal.output.end : 0
      at = frame.seq
    },
    onOutput: (bytes) => {
      const shown = live !== null && at < live ? withoutQuestions(bytes) : bytes
      at += bytes.length
      modes.watch(bytes)
      return writeAll(stdout, shown)
    },
    onState: tellLongAbsence(stdout),
  })
  const onKeys = (bytes: Buffer) => {
    const { keys, command } = typed(bytes)
    if (keys.length > 0 && !session.send(keys)) stdout.write('\x07')
    if (command === 'detach') leave({ kind: 'detached' })
    if (command === 'end') leave({ kind: 'killed' })
  }
  const onResize = () => {
    const size = sizeOf(stdout)
    session.resize(size.cols, size.rows)
  }
  // The window is closed, or a signal ends stq: the terminal of the project stays.
  const release = world.takeSignals(['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'], () => leave({ kind: 'detached' }))
  const hangUp = () => leave({ kind: 'detached' })
  const leaveRawMode = enterRawMode(stdin)
  stdin.on('data', onKeys).on('end', hangUp).on('error', hangUp)
  stdout.on('resize', onResize)
  try {
    const exit = await session.ended
    return left ?? (exit === null ? { kind: 'detached' } : { kind: 'ended', exit })
  } finally {
    over.abort()
    stdin.off('data', onKeys).off('end', hangUp).off('error', hangUp)
    stdout.off('resize', onResize)
    leaveRawMode()
    stdout.write(modes.undo())
    release()
  }
}

/** Within what the service takes; a terminal that does not know its size has that of a VT100. */
function sizeOf({ columns, rows }: NodeJS.WriteStream): { readonly cols: number; readonly rows: number } {
  return { cols: Math.min(500, Math.max(2, columns || 80)), rows: Math.min(300, Math.max(1, rows || 24)) }
}

/** A restart of the service is over before it is worth a word. */
function tellLongAbsence(stdout: NodeJS.WriteStream): (state: FollowState) => void {
  let timer: NodeJS.Timeout | null = null
  return (state) => {
    if (state === 'retrying') {
      timer ??= setTimeout(
        () => stdout.write('\r\n[stq: the connection is lost; trying again. Ctrl-] d leaves]\r\n'),
        3000,
      )
      return
    }
    if (timer !== null) clearTimeout(timer)
    timer = null
  }
}
