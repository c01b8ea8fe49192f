import { sizeWithin } from '../terminals/size.ts'
import type { SshChannel } from './channel.ts'
import { inTerminal, writeAll } from './channel-streams.ts'
import { complain } from './complain.ts'
import type { Entered } from './entered.ts'
import type { Wish } from './session.ts'
import { type TerminalSocket, terminalSocket } from './terminal-socket.ts'

/** What a person asked for with a terminal: a shell, a program, or one of the terminals that go on. */
export interface TerminalAsk extends Wish {
  readonly command: string | null
  /** Id of a terminal that is there. */
  readonly existing: string | null
}

/**
 * A terminal of the project, seen over a channel. It outlives a connection that is lost, like any other, and is ended when the client closes
 * it on purpose.
 */
export async function showShell(
  entered: Entered,
  channel: SshChannel,
  ask: TerminalAsk,
  begun: (socket: TerminalSocket) => void,
): Promise<void> {
  const { terminals, project, context, workload } = entered
  const left = new AbortController()
  channel.once('close', () => left.abort())
  const socket = terminalSocket(channel, AbortSignal.any([context.signal, left.signal]))
  begun(socket)
  try {
    const row = await entered.projectNow()
    if (ask.existing === null) await tellOthers(entered, channel)
    const size = sizeWithin(ask.size)
    const id =
      ask.existing ??
      (
        await terminals.open(
          row,
          { workload, ...size, command: await argvOf(entered, ask.command), env: ask.env },
          context,
        )
      ).id
    channel.once('close', () => {
      if (ask.existing === null) void endWithClient(entered, id)
    })
    await terminals.show(row, id, { after: undefined, size: ask.existing === null ? {} : size }, socket, context)
    if (!channel.writableEnded && !channel.destroyed) channel.end()
  } catch (error) {
    if (!socket.signal.aborted) await complain(channel, error, project.slug)
  }
}

async function argvOf(entered: Entered, command: string | null): Promise<readonly string[] | undefined> {
  return command === null ? undefined : entered.shellArgv(command)
}

/** The client said good-bye, or closed this channel alone: nobody comes back to the terminal. */
async function endWithClient({ terminals, projectNow, context, isLost, onError }: Entered, id: string): Promise<void> {
  try {
    if (await isLost()) return
    const row = await projectNow()
    const { state } = await terminals.find(row, id)
    if (state === 'running') await terminals.end(row, id, context)
  } catch (error) {
    onError(error, 'ending a terminal whose client went')
  }
}

/** Terminals of the same caller that nobody looks at: a connection was lost. */
async function tellOthers({ terminals, projectNow, context, user }: Entered, channel: SshChannel): Promise<void> {
  const known = await terminals.of(await projectNow())
  const left = known.filter(
    ({ state, viewers, actor }) => state === 'running' && viewers === 0 && actor === context.actor,
  )
  const lines = left.slice(0, 5).map(({ id, title }) => `[${title} goes on: ssh -t -s … ${user} ${id}]`)
  if (lines.length > 0) await writeAll(channel, inTerminal(lines.join('\n')))
}
