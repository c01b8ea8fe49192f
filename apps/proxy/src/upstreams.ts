import type { RouteTable, UpstreamTarget } from './route-table.ts'
import { type Flights, type UpstreamLimits, UpstreamPool } from './upstream/pool.ts'

/**
 * Keep-alive connections to the projects, one pool per address, made at the first request and closed when no route
 * leads there any more; what is under way on it ends by itself.
 */
export interface Upstreams {
  to(target: UpstreamTarget): UpstreamPool
  keepOnly(table: RouteTable): void
  /** What is under way to an address, whether or not a route still leads there. */
  flights(host: string, port: number): Flights
  close(): void
}

export function createUpstreams(limits: UpstreamLimits): Upstreams {
  const pools = new Map<string, UpstreamPool>()
  /** Spares the making of the key at every request: targets are values of the table and live as long as it does. */
  let byTarget = new WeakMap<UpstreamTarget, UpstreamPool>()

  const poolOf = ({ host, port }: UpstreamTarget): UpstreamPool => {
    const key = keyOf(host, port)
    const known = pools.get(key)
    if (known !== undefined) return known
    const pool = new UpstreamPool(host, port, limits, () => {
      if (pools.get(key) !== pool) return
      pools.delete(key)
      byTarget = new WeakMap()
    })
    pools.set(key, pool)
    return pool
  }

  return {
    to(target) {
      const known = byTarget.get(target)
      if (known !== undefined) return known
      const pool = poolOf(target)
      byTarget.set(target, pool)
      return pool
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
