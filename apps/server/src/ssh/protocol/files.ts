import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { createAhead } from '@stackquay/engines/native/sftp/ahead'
import type { ServerChannel } from 'ssh2'

export interface JoinedFiles {
  /** `in` is what the process of the session reads, `out` what it answers. Its end is the caller’s to see. */
  join(end: 'in' | 'out', pipe: Socket): void
  destroy(): void
}

/** How long a file stays open after its client closed it, when nothing else is asked. */
const lingerMs = 50

/** A client of SFTP and the process of its session. What was told ahead is answered here: see `ahead.ts`. */
export function joinFiles(channel: ServerChannel): JoinedFiles {
  const pipes: Socket[] = []
  let lingering: NodeJS.Timeout | null = null
  const ahead = createAhead({
    answer: (packet) => void channel.write(packet),
    takes: () => channel.writableLength === 0,
    now: () => performance.now(),
  })
  const linger = (pipe: Socket) => {
    lingering ??= setTimeout(() => {
      lingering = null
      const packet = ahead.closed()
      if (packet !== null && pipe.writable) pipe.write(packet)
    }, lingerMs)
  }
  return {
    join: (end, pipe) => {
      pipes.push(pipe)
      if (end === 'out') return carry(pipe, channel, ahead.fromProcess)
      carry(channel, pipe, (chunk) => {
        const passed = ahead.fromClient(chunk)
        if (passed.length === 0) linger(pipe)
        return passed
      })
      channel.once('end', () => pipe.end())
    },
    destroy: () => {
      if (lingering !== null) clearTimeout(lingering)
      for (const pipe of pipes) pipe.destroy()
    },
  }
}

/** Reads no more than the other side takes. */
function carry(from: Readable, to: Writable, look: (chunk: Buffer) => readonly Buffer[]): void {
  const resume = () => void from.resume()
  // What comes for nobody goes nowhere, so that the end behind it is seen.
  to.once('close', resume)
  from.on('data', (chunk: Buffer) => {
    if (to.destroyed) return
    let takes = true
    for (const part of look(chunk)) takes = to.write(part)
    if (takes) return
    from.pause()
    to.once('drain', resume)
  })
}
