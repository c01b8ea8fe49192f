import type { RouteShare } from '@stackquay/proxy/route-table'
import type { PortLease, ShareRow } from '@stackquay/store'
import { findProvider } from './providers/index.ts'

/** Name of the port that is leased for a share, in place of a workload's. */
export const listenerPortName = 'entrance'

/** Where a provider's program finds its share; null when it needs none. */
export function listenerPortOf(share: Pick<ShareRow, 'id'>, leases: readonly PortLease[]): number | null {
  return leases.find(({ workload, port }) => workload === share.id && port === listenerPortName)?.hostPort ?? null
}

/** The same as the proxy takes it. */
export function shareListener(
  share: ShareRow,
  { leases }: { readonly leases: readonly PortLease[] },
): Pick<RouteShare, 'entrance'> {
  const tunnel = findProvider(share.provider)?.tunnel ?? null
  const port = listenerPortOf(share, leases)
  if (tunnel === null || port === null) return {}
  return { entrance: { port, clientHeader: tunnel.clientHeader, publicUrl: share.url } }
}
