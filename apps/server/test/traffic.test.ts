import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProblemError } from '@stackquay/contract'
import { ProxyError } from '@stackquay/proxy/control'
import type { ProjectRow } from '@stackquay/store'
import { type TrafficDeps, trafficHandlers } from '../src/addresses/traffic-handlers.ts'
import type { RequestContext } from '../src/http/handler.ts'

const row = { id: 'prj_shop', slug: 'shop' } as ProjectRow
const context = {} as RequestContext
const line = {
  time: '2026-03-01T12:00:00.000Z',
  host: 'shop.localhost',
  method: 'GET',
  path: '/',
  status: 200,
  seconds: 0.01,
  bytes: 5,
  client: '127.0.0.1',
  userAgent: null,
  via: 'domain',
  share: null,
  by: null,
} as const
const counts = {
  requests: 1,
  bytes: 5,
  status2xx: 1,
  status3xx: 0,
  status4xx: 0,
  status5xx: 0,
  p50: 0.01,
  p95: 0.01,
  p99: 0.01,
}

function handlers(proxy: Partial<NonNullable<ReturnType<TrafficDeps['proxy']>>> | null, share: string | null = null) {
  return trafficHandlers({
    store: {
      projects: { find: async (idOrSlug) => (idOrSlug === 'shop' ? row : null) },
      network: { share: async () => (share === null ? null : ({ id: share } as never)) },
    },
    proxy: () => proxy as ReturnType<TrafficDeps['proxy']>,
    now: () => Date.parse('2026-03-01T12:34:56Z'),
  })
}

test('the access log is asked of the proxy by the project’s id, with its filters, and the cursor goes back as it came', async () => {
  const asked: unknown[] = []
  const { listAccessLog } = handlers({
    access: async (project, query) => {
      asked.push([project, query])
      return { items: [line], next: '3.128' }
    },
  })
  const { body } = await listAccessLog(
    { params: { id: 'shop' }, query: { limit: 10, cursor: '4.0', status: '5xx', q: 'x' }, body: undefined } as never,
    context,
  )
  const { share: _share, ...entry } = line
  assert.deepEqual(body, { items: [entry], nextCursor: '3.128' })
  assert.deepEqual(asked, [
    ['prj_shop', { limit: 10, before: '4.0', since: undefined, until: undefined, status: '5xx', q: 'x' }],
  ])
})

for (const [range, from, step, points] of [
  ['15m', '2026-03-01T12:20:00Z', 60, 15],
  ['1h', '2026-03-01T11:35:00Z', 60, 60],
  ['6h', '2026-03-01T06:35:00Z', 300, 72],
  ['24h', '2026-02-28T12:45:00Z', 900, 96],
  ['7d', '2026-02-22T14:00:00Z', 7_200, 84],
] as const) {
  test(`the range ${range} has ${points} points, and the last one is the running one`, async () => {
    const { getTraffic } = handlers({
      traffic: async (_project, query) => {
        assert.equal(query.from, Date.parse(from) / 1000)
        assert.equal(query.step, step)
        assert.equal((query.to - query.from) / query.step, points)
        return { stepSeconds: query.step, items: [{ time: line.time, ...counts }], total: counts }
      },
    })
    const { body } = await getTraffic({ params: { id: 'shop' }, query: { range } } as never, context)
    assert.deepEqual(body, { stepSeconds: step, items: [{ time: line.time, ...counts }], total: counts })
  })
}

test('viewers are those of the share there is; without a share there are none', async () => {
  const viewer = { address: '192.0.2.7', userAgent: 'curl', first: line.time, last: line.time, requests: 3 }
  const proxy = {
    viewers: async (_project: string, share: string) => {
      assert.equal(share, 'shr_1')
      return { items: [viewer] }
    },
  }
  const request = { params: { id: 'shop' } } as never
  assert.deepEqual((await handlers(proxy, 'shr_1').listShareViewers(request, context)).body, {
    items: [{ time: line.time, address: '192.0.2.7', userAgent: 'curl', requests: 3, lastSeenAt: line.time }],
  })
  assert.deepEqual((await handlers(null).listShareViewers(request, context)).body, { items: [] })
})

test('without a proxy the answer is that it does not run, and a cursor of another place is the caller’s fault', async () => {
  const request = { params: { id: 'shop' }, query: { range: '1h' } } as never
  const problem = (code: string) => (error: unknown) => error instanceof ProblemError && error.code === code
  await assert.rejects(handlers(null).getTraffic(request, context), problem('unavailable'))
  const failing = (code: ProxyError['code']) =>
    handlers({
      access: async () => {
        throw new ProxyError(code, 'no')
      },
    }).listAccessLog(request, context)
  await assert.rejects(failing('proxy_not_running'), problem('unavailable'))
  await assert.rejects(failing('proxy_not_answering'), problem('unavailable'))
  await assert.rejects(failing('query_invalid'), problem('invalid_request'))
  await assert.rejects(
    handlers({}).getTraffic({ params: { id: 'none' }, query: { range: '1h' } } as never, context),
    problem('not_found'),
  )
})
