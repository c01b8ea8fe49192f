import type { ServerChannel } from 'ssh2'
import { complain } from './complain.ts'
import type { Entered } from './entered.ts'

/**
 * SFTP is spoken by a process that is the project’s user and reaches nothing outside of the source; here its bytes are only handed on. It
 * ends with the channel.
 */
export async function serveSftp(entered: Entered, channel: ServerChannel): Promise<void> {
  const { context, project } = entered
  channel.pause()
  try {
    const child = await entered.startSftp()
    const end = () => child.kill('SIGKILL')
    const { stdin, stdout, stderr } = child
    if (stdin === null || stdout === null) return
    stderr?.resume()
    const leave = () => {
      stdin.destroy()
      end()
    }
    channel.once('close', leave)
    context.signal.addEventListener('abort', leave, { once: true })
    child.once('error', (error) => void complain(channel, error, project.slug))
    child.once('close', (code) => {
      context.signal.removeEventListener('abort', leave)
      if (channel.destroyed || channel.writableEnded) return
      channel.exit(code ?? 1)
      channel.end()
    })
    stdin.on('error', () => {})
    stdout.on('error', () => {})
    channel.pipe(stdin)
    stdout.pipe(channel, { end: false })
    if (context.signal.aborted) leave()
  } catch (error) {
    await complain(channel, error, project.slug)
  }
}
