import { ProblemError } from '@stackquay/contract'
import { type ProxyControl, ProxyError } from '@stackquay/proxy/control'
import type { ProjectRow, Store } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'

export interface TrafficDeps {
  readonly store: {
    readonly projects: Pick<Store['projects'], 'find'>
    readonly network: Pick<Store['network'], 'share'>
  }
  /** Null while no proxy was found or started, `off` when there is none by the settings. */
  proxy(): Pick<ProxyControl, 'access' | 'traffic' | 'viewers'> | null | 'off'
  readonly now?: () => number
}

/** Seconds: the whole, and the step of its points. */
const ranges = {
  '15m': { whole: 900, step: 60 },
  '1h': { whole: 3_600, step: 60 },
  '6h': { whole: 21_600, step: 300 },
  '24h': { whole: 86_400, step: 900 },
  '7d': { whole: 604_800, step: 7_200 },
} as const

/** What the proxy notes of a project’s requests. It is kept by the proxy, which goes on when this service does not run. */
export function trafficHandlers({
  store,
  proxy,
  now = Date.now,
}: TrafficDeps): Pick<Handlers, 'listAccessLog' | 'getTraffic' | 'listShareViewers'> {
  const find = async (idOrSlug: string): Promise<ProjectRow> => {
    const row = await store.projects.find(idOrSlug)
    if (row === null) throw new ProblemError('not_found', `There is no project "${idOrSlug}".`)
    return row
  }
  const ask = async <Answer>(question: (control: ReturnType<typeof running>) => Promise<Answer>): Promise<Answer> => {
    try {
      return await question(running())
    } catch (error) {
      throw error instanceof ProxyError ? problemOf(error) : error
    }
  }
  const running = () => {
    const control = proxy()
    if (control === null) throw notRunning()
    if (control === 'off') throw switchedOff()
    return control
  }

  return {
    listAccessLog: async ({ params, query }) => {
      const { id } = await find(params.id)
      const { limit = 50, cursor, since, until, status, q } = query
      const page = await ask((control) => control.access(id, { limit, before: cursor, since, until, status, q }))
      const items = page.items.map(({ share: _share, ...entry }) => entry)
      return { status: 200, body: { items, nextCursor: page.next } }
    },

    getTraffic: async ({ params, query }) => {
      const { id } = await find(params.id)
      const { whole, step } = ranges[query.range]
      // The point that is running is the last one.
      const to = (Math.floor(now() / 1000 / step) + 1) * step
      const { stepSeconds, items, total } = await ask((control) => control.traffic(id, { from: to - whole, to, step }))
      return { status: 200, body: { stepSeconds, items: [...items], total } }
    },

    listShareViewers: async ({ params }) => {
      const { id } = await find(params.id)
      const share = await store.network.share(id)
      if (share === null) return { status: 200, body: { items: [] } }
      const { items } = await ask((control) => control.viewers(id, share.id))
      return {
        status: 200,
        body: {
          items: items.map(({ first, last, address, userAgent, requests }) => ({
            time: first,
            address,
            userAgent,
            requests,
            lastSeenAt: last,
          })),
        },
      }
    },
  }
}

/** A wrong cursor is the caller’s; all else is the proxy’s. */
function problemOf(error: ProxyError): ProblemError {
  if (error.code === 'query_invalid') return new ProblemError('invalid_request', error.message)
  if (error.code === 'proxy_not_running') return notRunning()
  return new ProblemError('unavailable', error.message)
}

function switchedOff(): ProblemError {
  return new ProblemError('unavailable_here', 'The proxy is off, and it keeps the access log.', {
    hint: 'Set STACKQUAY_PROXY_HTTP to an address, then start the service again.',
  })
}

function notRunning(): ProblemError {
  return new ProblemError('unavailable', 'The proxy does not run, and it keeps the access log.')
}
