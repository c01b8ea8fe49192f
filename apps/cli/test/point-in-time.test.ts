import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stq } from './run-stq.ts'
import { emptyPlan, operation, standIn, step } from './stand-in.ts'

const path = '/projects/shop/databases/main'
const to = '2026-01-01T10:00:00.250+01:00'
const ended = operation({
  state: 'succeeded',
  steps: [step('recover', 'succeeded')],
  finishedAt: '2026-01-01T00:00:04Z',
})
const found = {
  ...{ database: 'main', workload: 'postgresql-main', keep: '7d', state: 'late', bases: 2, bytes: 2_000_000 },
  ranges: [{ from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }],
  ...{ waiting: 3, waitingSince: '2026-01-01T23:00:00Z' },
}
const recovered = { database: 'main', to, lastTransactionAt: '2026-01-01T08:59:59.9Z' }

test('against a stand-in: what can be restored is shown, and what falls behind', async () => {
  await using service = await standIn({ [`GET ${path}/point-in-time`]: () => found })
  const { code, stdout } = await stq(['db', 'point-in-time', 'shop', 'main'], { url: service.url })
  assert.equal(code, 0)
  assert.match(stdout, /late: its changes do not get into the archive/)
  assert.match(stdout, /2026-01-01T00:00:00Z to 2026-01-02T00:00:00Z/)
  assert.match(stdout, /3 pieces since 2026-01-01T23:00:00Z/)
})

test('against a stand-in: a time goes out as it was written, and the last transaction is named', async () => {
  const bodies: unknown[] = []
  await using service = await standIn({
    'GET /operations/op_1': () => ended,
    'GET /projects/shop': () => ({ slug: 'shop', databases: { past: { recovered } } }),
    [`POST ${path}/restore-to`]: ({ body, query }) => {
      bodies.push(body)
      return query.has('dryRun') ? { plan: emptyPlan } : operation()
    },
  })
  const options = { url: service.url }
  const made = await stq(['db', 'restore-to', 'shop', 'main', to, '--as', 'past'], options)
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stderr, /past is main at .*: its last transaction is of 2026-01-01T08:59:59.9Z/)
  assert.deepEqual(bodies, [{ to, name: 'past' }])
  assert.equal((await stq(['db', 'restore-to', 'shop', 'main', '10m', '--as', 'past', '--dry-run'], options)).code, 0)
  assert.match((bodies[1] as { to: string }).to, /^\d{4}-.*Z$/)
  for (const wrong of ['2026-01-01T10:00:00', 'yesterday', '2026-01-01'])
    assert.equal((await stq(['db', 'restore-to', 'shop', 'main', wrong, '--as', 'past'], options)).code, 2, wrong)
  assert.equal((await stq(['db', 'restore-to', 'shop', 'main', to], options)).code, 2)
  assert.equal(bodies.length, 2)
})

test('against a stand-in: it is switched on and off', async () => {
  const bodies: unknown[] = []
  const project = { slug: 'shop', databases: { main: {} }, operation: null, status: { warnings: [] } }
  await using service = await standIn({
    'GET /projects/shop': () => project,
    [`PATCH ${path}`]: ({ body }) => {
      bodies.push(body)
      return project
    },
  })
  for (const flag of [['--point-in-time', '7d'], ['--no-point-in-time']])
    assert.equal((await stq(['db', 'update', 'shop', 'main', ...flag], { url: service.url })).code, 0)
  assert.deepEqual(bodies, [{ pointInTime: { keep: '7d' } }, { pointInTime: null }])
})
