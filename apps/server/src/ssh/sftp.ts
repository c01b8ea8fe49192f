import type { Socket } from 'node:net'
import type { SshChannel } from './channel.ts'
import { complain } from './complain.ts'
import type { Entered } from './entered.ts'

/** Hands a pipe of a program to the process that speaks with the client: what passes there, the service does not see. */
export type FilePipes = (end: 'in' | 'out', pipe: Socket) => void

/**
 * SFTP is spoken by a process that is the project’s user and reaches nothing outside of the source. It is started here, and then it and the
 * process of the protocol have each other alone. It ends with the channel.
 */
export async function serveSftp(entered: Entered, channel: SshChannel, give: FilePipes): Promise<void> {
  const { context, project } = entered
  try {
    const child = await entered.startSftp()
    const { stdin, stdout, stderr } = child
    const end = () => void child.kill('SIGKILL')
    if (stdin === null || stdout === null || channel.destroyed || context.signal.aborted) return end()
    stderr?.resume()
    channel.once('close', end)
    context.signal.addEventListener('abort', end, { once: true })
    child.once('error', (error) => void complain(channel, error, project.slug))
    child.once('exit', (code) => {
      context.signal.removeEventListener('abort', end)
      if (channel.destroyed || channel.writableEnded) return
      channel.exit({ code: code ?? 1 })
      channel.end()
    })
    for (const pipe of [stdin, stdout]) pipe.on('error', () => {})
    // Nothing is asked before there is a way for the answer.
    give('out', stdout as Socket)
    give('in', stdin as Socket)
  } catch (error) {
    await complain(channel, error, project.slug)
  }
}
