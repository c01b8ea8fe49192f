import type { IndexedRoute } from './route-index.ts'
import type { RouteTable, UpstreamTarget } from './route-table.ts'
import type { UpstreamLimits } from './upstream/limits.ts'
import { type Flights, UpstreamPool } from './upstream/pool.ts'

/**
 * Keep-alive connections to the projects, one pool per address, made at the first request and closed when no route
 * leads there any more; what is under way on it ends by itself.
 */
export interface Upstreams {
  /** Null when a page answers. */
  to(route: IndexedRoute): UpstreamPool | null
  keepOnly(table: RouteTable): void
  /** What is under way to an address, whether or not a route still leads there. */
  flights(host: string, port: number): Flights
  close(): void
}

export function createUpstreams(limits: UpstreamLimits): Upstreams {
  const pools = new Map<string, UpstreamPool>()

  const poolOf = ({ host, port }: UpstreamTarget): UpstreamPool => {
    const key = keyOf(host, port)
    const known = pools.get(key)
    if (known !== undefined) return known
    const pool = new UpstreamPool(host, port, limits, () => {
      if (pools.get(key) === pool) pools.delete(key)
    })
    pools.set(key, pool)
    return pool
  }

  return {
    to(route) {
      if (route.target === null) return null
      if (route.pool === null || route.pool.isGone) route.pool = poolOf(route.target)
      return route.pool
    },
    keepOnly(table) {
      const wanted = new Set<string>()
      for (const { target } of table.routes) if (target.kind === 'upstream') wanted.add(keyOf(target.host, target.port))
      for (const [key, pool] of pools) {
        if (wanted.has(key)) pool.recall()
        else pool.retire()
      }
    },
    flights: (host, port) => pools.get(keyOf(host, port))?.flights ?? { requests: 0, tunnels: 0 },
    close() {
      for (const pool of [...pools.values()]) pool.destroy()
    },
  }
}

function keyOf(host: string, port: number): string {
  return `${host}:${port}`
}
