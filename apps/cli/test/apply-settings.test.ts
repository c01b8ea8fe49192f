import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stq } from './run-stq.ts'
import { emptyPlan, operation, project, standIn, step } from './stand-in.ts'

test('against a stand-in: settings are applied and reverted, waited for, or only planned', async () => {
  const ended = operation({
    state: 'succeeded',
    steps: [step('start', 'succeeded')],
    finishedAt: '2026-01-01T00:00:04Z',
  })
  const answer = ({ query }: { query: URLSearchParams }) =>
    query.get('dryRun') === 'true'
      ? {
          plan: {
            ...emptyPlan,
            restarts: ['node'],
            steps: [{ title: 'Start Node.js', workload: 'node', because: [] }],
          },
        }
      : project({ operation: operation() })
  await using service = await standIn({
    'POST /projects/shop/apply': answer,
    'POST /projects/shop/revert': answer,
    'GET /operations/op_1': () => ended,
    'GET /projects/shop': () => project(),
  })
  for (const [act, done] of [
    ['apply', 'The settings are applied'],
    ['revert', 'The settings are those that were applied last'],
  ]) {
    const { code, stderr } = await stq(['settings', act!, 'shop'], { url: service.url })
    assert.equal(code, 0, stderr)
    assert.ok(stderr.endsWith(`✔ ${done}\n`), stderr)
    const before = service.calls.length
    const planned = await stq(['settings', act!, 'shop', '--dry-run'], { url: service.url })
    assert.match(planned.stdout, /Start Node\.js/)
    assert.equal(service.calls.slice(before).filter(({ query }) => query.get('dryRun') !== 'true').length, 0)
  }
  assert.equal((await stq(['settings', 'undo', 'shop'], { url: service.url })).code, 2)
})
