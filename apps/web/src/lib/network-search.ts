export const networkViews = ['domains', 'rules', 'share', 'traffic'] as const
export type NetworkView = (typeof networkViews)[number]

/** Seconds back from now. */
export const trafficRanges = { '15m': 900, '1h': 3600, '6h': 21_600, '24h': 86_400, '7d': 604_800 } as const
export type TrafficRange = keyof typeof trafficRanges

/** What stands in the address of the network tab, so that a view can be passed on and reloaded. */
export interface NetworkSearch {
  /** Domains without it. */
  readonly view?: Exclude<NetworkView, 'domains'>
  readonly range?: TrafficRange
  /** Of the access log: `404`, or `5xx`. */
  readonly status?: string
  readonly q?: string
}

/** Of an address anybody may have typed: what is not understood is left out. */
export function readNetworkSearch(search: Readonly<Record<string, unknown>>): NetworkSearch {
  const view = networkViews.find((known) => known === search.view)
  // The router reads `status=404` as a number.
  const [range, status, q] = [search.range, search.status, search.q].map((value) =>
    typeof value === 'number' ? String(value) : value,
  )
  if (view === undefined || view === 'domains') return {}
  if (view !== 'traffic') return { view }
  return {
    view,
    ...(typeof range === 'string' && Object.hasOwn(trafficRanges, range) ? { range: range as TrafficRange } : {}),
    ...(typeof status === 'string' && /^[1-5](xx|\d\d)$/.test(status) ? { status } : {}),
    ...(typeof q === 'string' && q !== '' ? { q: q.slice(0, 200) } : {}),
  }
}
