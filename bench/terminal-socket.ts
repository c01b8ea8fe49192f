import { spawn as spawnTerminal } from '@lydell/node-pty'
import { WebSocket } from 'ws'
import type { Service } from '../e2e/support/service.ts'
import { withService } from './instance.ts'

/**
 * From a keystroke to its echo by `cat`, as a page or `stq shell` has it: through the WebSocket, the service, the holder, the
 * PTY and back, in turns with a PTY that this process opened itself.
 */
export async function measureSocketEcho(times: number): Promise<{ own: number[]; socket: number[] }> {
  return withService(async (service) => {
    const path = await openTerminal(service)
    const peer = new WebSocket(`${service.url.replace('http', 'ws')}/api/v1${path}`, {
      headers: { authorization: `Bearer ${service.token}` },
    })
    const opened = Promise.withResolvers<void>()
    peer.once('message', () => opened.resolve())
    peer.once('error', opened.reject)
    await opened.promise
    const local = spawnTerminal('/bin/cat', [], { cols: 80, rows: 24 })
    let echoed = () => {}
    local.onData(() => echoed())
    peer.on('message', (_data, isBinary) => {
      if (isBinary) echoed()
    })
    const timed = async (type: () => void) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      echoed = resolve
      const begun = performance.now()
      type()
      await promise
      const took = performance.now() - begun
      await new Promise((done) => setTimeout(done, 10))
      return took
    }
    const own: number[] = []
    const socket: number[] = []
    for (let time = 0; time < times; time += 1) {
      const key = time % 50 === 49 ? '\n' : 'x'
      own.push(await timed(() => local.write(key)))
      socket.push(await timed(() => peer.send(Buffer.from(key))))
    }
    local.kill()
    peer.terminate()
    // The first ones only warm up.
    return { own: own.slice(times / 10), socket: socket.slice(times / 10) }
  })
}

async function openTerminal({ client }: Service): Promise<string> {
  const { id } = await client.call('createProject', {
    body: { name: 'Shell', template: 'static', start: false },
    query: { wait: 60 },
  })
  const terminal = await client.call('createTerminal', { params: { id }, body: { command: ['cat'] } })
  return `/projects/${id}/terminals/${terminal.id}/ws`
}
