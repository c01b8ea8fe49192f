import type { FrameSocket, PeerMessage } from '../http/handler.ts'
import type { SshChannel } from './channel.ts'
import { inTerminal, writeAll } from './channel-streams.ts'

/** A channel with a terminal as the viewers of terminals see it. */
export interface TerminalSocket extends FrameSocket {
  resize(cols: number, rows: number): void
}

/** Frames become what a person sees, and how it ended the exit of the channel. */
export function terminalSocket(channel: SshChannel, signal: AbortSignal): TerminalSocket {
  let take: ((message: PeerMessage) => void | Promise<void>) | null = null
  let working = Promise.resolve()
  let sent = Promise.resolve()
  const inOrder = (message: PeerMessage) => {
    working = working.then(async () => take?.(message)).catch(() => void channel.destroy())
    return working
  }
  channel.on('data', (bytes: Buffer) => {
    // While what was typed is handled, the client is held.
    channel.pause()
    void inOrder({ kind: 'binary', bytes }).finally(() => channel.resume())
  })
  channel.pause()
  const put = (bytes: Uint8Array) => {
    sent = writeAll(channel, bytes)
    return sent
  }
  const send: FrameSocket['send'] = async (frame) => {
    if (frame.type === 'exit') endChannel(channel, frame as { code?: number | null; signal?: string | null })
    if (frame.type === 'gap') await put(inTerminal('\n[Output is missing here: it was too much.]'))
  }
  return {
    signal,
    send,
    sendText: async (text) => send(JSON.parse(String(text))),
    sendNumbered: async () => {},
    sendBinary: put,
    flushed: () => sent,
    receive: (handle) => {
      take = handle
      channel.resume()
    },
    resize: (cols, rows) => {
      const text = JSON.stringify({ type: 'resize', cols, rows })
      void inOrder({ kind: 'text', text })
    },
  }
}

/** How a program ended, as SSH tells it. */
export function endChannel(
  channel: SshChannel,
  { code, signal }: { readonly code?: number | null; readonly signal?: string | null },
): void {
  if (channel.destroyed || channel.writableEnded) return
  if (typeof code === 'number') channel.exit({ code })
  else if (typeof signal === 'string') channel.exit({ signal: signal.replace(/^SIG/, '') })
  else channel.exit({ code: 255 })
  channel.end()
}
