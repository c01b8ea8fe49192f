import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port of loopback that was free a moment ago, below those that systems give to outgoing connections: one of these may be
 * taken at any moment. Prefer listening on 0 where the port need not be known beforehand.
 */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1)
  return port!
}

/** Several at once, all different. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest))
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    ports.add(port)
    await new Promise((resolve) => server.close(resolve))
  }
  return [...ports]
}

const lowest = 10_000
const highest = 21_000
