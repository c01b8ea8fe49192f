import { performance } from 'node:perf_hooks'
import { WebSocket } from 'ws'
import type { Contestant } from './contestants.ts'
import { cpuMicroseconds } from './cores.ts'

export interface EchoResult {
  /** Messages there and back, per second. */
  readonly perSecond: number
  /** Microseconds of a processor that the proxy takes for one of them. */
  readonly cpu: number
  /** Milliseconds, median and 99th percentile, of one message at a time on one connection. */
  readonly median: number
  readonly p99: number
}

/** Small messages, as hot reload and chats send them: first many under way at once, then one at a time. */
export async function measureEcho({ port, pid }: Contestant, seconds: number): Promise<EchoResult> {
  const { perSecond, cpu } = await throughput(port, pid, { connections: 16, window: 16, seconds })
  const times = (await roundTrips(port, seconds / 2)).sort((a, b) => a - b)
  return { perSecond, cpu, median: times[times.length >> 1]!, p99: times[Math.floor(times.length * 0.99)]! }
}

async function throughput(
  port: number,
  pid: number,
  { connections, window, seconds }: { connections: number; window: number; seconds: number },
): Promise<Pick<EchoResult, 'perSecond' | 'cpu'>> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)))
  let echoed = 0
  for (const socket of sockets) {
    socket.on('message', () => {
      echoed += 1
      socket.send(message)
    })
    for (let sent = 0; sent < window; sent += 1) socket.send(message)
  }
  await pause(300)
  const before = echoed
  const cpuBefore = cpuMicroseconds(pid)
  const start = performance.now()
  await pause(seconds * 1000)
  const count = echoed - before
  const result = {
    perSecond: (count / (performance.now() - start)) * 1000,
    cpu: (cpuMicroseconds(pid) - cpuBefore) / count,
  }
  for (const socket of sockets) socket.terminate()
  return result
}

async function roundTrips(port: number, seconds: number): Promise<number[]> {
  const socket = await open(port)
  const times: number[] = []
  const end = performance.now() + seconds * 1000
  await new Promise<void>((resolve) => {
    let sentAt = performance.now()
    socket.on('message', () => {
      const now = performance.now()
      times.push(now - sentAt)
      if (now > end) return resolve()
      sentAt = now
      socket.send(message)
    })
    socket.send(message)
  })
  socket.terminate()
  return times
}

const message = Buffer.alloc(128, 'e')

function open(port: number): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, {
      headers: { host: 'echo.localhost' },
      perMessageDeflate: false,
    })
    socket.once('open', () => resolve(socket)).once('error', reject)
  })
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
