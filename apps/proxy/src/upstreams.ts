import { Pool } from 'undici'
import type { RouteTable, UpstreamTarget } from './route-table.ts'

/**
 * Keep-alive connections to the projects, one pool per address, made at the first request and closed when no route
 * leads there any more; what is under way on it ends by itself.
 */
export interface Upstreams {
  to(target: UpstreamTarget): Pool
  keepOnly(table: RouteTable): void
  close(): Promise<void>
}

export function createUpstreams(timing: UpstreamTiming): Upstreams {
  const pools = new Map<string, Pool>()

  return {
    to(target) {
      const origin = originOf(target)
      let pool = pools.get(origin)
      if (!pool) {
        pool = new Pool(origin, poolOptions(timing))
        pools.set(origin, pool)
      }
      return pool
    },
    keepOnly(table) {
      const wanted = new Set<string>()
      for (const { target } of table.routes) if (target.kind === 'upstream') wanted.add(originOf(target))
      for (const [origin, pool] of pools) {
        if (wanted.has(origin)) continue
        pools.delete(origin)
        void pool.close()
      }
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
      pools.clear()
    },
  }
}

export interface UpstreamTiming {
  /** How long a project may think before its first byte, in ms. */
  readonly answerWithin: number
  readonly connectWithin: number
}

function poolOptions({ answerWithin, connectWithin }: UpstreamTiming): Pool.Options {
  return {
    // Held requests wait here instead of in thousands of sockets when a project hangs.
    connections: 1024,
    pipelining: 1,
    allowH2: false,
    headersTimeout: answerWithin,
    connectTimeout: connectWithin,
    // An event stream may be silent for hours; that the client leaves is noticed by other means.
    bodyTimeout: 0,
    maxHeaderSize: 64 * 1024,
    // Below the 5 s after which Node programs close idle connections.
    keepAliveTimeout: 4_000,
  }
}

function originOf({ host, port }: UpstreamTarget): string {
  return host.includes(':') ? `http://[${host}]:${port}` : `http://${host}:${port}`
}
