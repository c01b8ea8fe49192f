import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerFault } from '../src/native/health.ts'
import { pace, watchChecks } from '../src/native/health-watch.ts'

const ok = { ok: true } as const
const bad = { ok: false, reason: 'GET /health on port 5000 answered 503, expected 200-399.' } as const

/** What is reported of checks that end so, one after the other, a few milliseconds apart. */
async function reported(results: readonly (typeof ok | typeof bad)[], failures: number, wasHealthy = false) {
  const stop = new AbortController()
  const seen: string[] = []
  let next = 0
  const ended = Promise.withResolvers<void>()
  const check = () => {
    const result = results[next++]
    if (result !== undefined) return Promise.resolve(result)
    stop.abort()
    ended.resolve()
    return Promise.resolve(ok)
  }
  const checks = { intervalSeconds: 0.001, retrySeconds: 0.001, failures, wasHealthy, check }
  await watchChecks(checks, stop.signal, (result) => seen.push(result.ok ? 'up' : result.reason))
  await ended.promise
  return seen
}

const down = (times: number) => `GET /health on port 5000 answered 503, expected 200-399, ${times} times in a row.`

test('a healthy program is reported as down after so many failures in a row, with the same words each time', async () => {
  assert.deepEqual(await reported([ok, bad, bad, ok, bad, bad, bad, bad], 3), ['up', 'up', down(3), down(3)])
  assert.deepEqual(await reported([ok, bad], 1), ['up', bad.reason])
})

test('one success is no recovery: what passes every other check is down', { timeout: 30_000 }, async () => {
  assert.deepEqual(await reported([ok, bad, bad, ok, bad, ok, ok], 2), ['up', down(2), 'up'])
})

test('what was healthy before the service began is down with its first failure, and nothing is counted that was not seen', async () => {
  assert.deepEqual(await reported([bad, bad, bad], 3, true), [bad.reason, bad.reason, down(3)])
})

test('who says how often one looks says how soon one looks again', () => {
  const http = { kind: 'http', port: 'http', path: '/', status: [200, 399], timeoutSeconds: 60 } as const
  assert.deepEqual(pace(http), { intervalSeconds: 15, retrySeconds: 1, failures: 3 })
  assert.deepEqual(pace({ ...http, intervalSeconds: 60, failures: 5 }), {
    intervalSeconds: 60,
    retrySeconds: 60,
    failures: 5,
  })
})

test('every range counts, and the reason names them all', () => {
  const check = { kind: 'http', port: 'http', path: '/health', status: [200, 299], timeoutSeconds: 60 } as const
  const both = { ...check, moreStatuses: [[418, 418]] } as const
  assert.equal(answerFault(both, 5000, 418), null)
  assert.equal(answerFault(check, 5000, 418), 'GET /health on port 5000 answered 418, expected 200-299.')
  assert.equal(answerFault(both, 5000, 302), 'GET /health on port 5000 answered 302, expected 200-299, 418.')
})
