import type { Route, RouteTable } from './route-table.ts'

/** One table, ready for look-ups. Never changed: a new table is a new index, and the switch is one assignment. */
export interface RouteIndex {
  readonly table: RouteTable
  readonly byHost: ReadonlyMap<string, Route>
}

export function indexRoutes(table: RouteTable): RouteIndex {
  return { table, byHost: new Map(table.routes.flatMap((route) => route.hosts.map((host) => [host, route]))) }
}

/**
 * The name in a `Host` header: lower case, port and trailing dot gone. Undefined when what stands there is no host at
 * all; such a request is refused rather than guessed at.
 */
export function hostName(authority: string): string | undefined {
  const found = authorityForm.exec(authority)
  return found?.[1]?.toLowerCase()
}

const authorityForm = /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])\.?(?::\d{0,5})?$/i
