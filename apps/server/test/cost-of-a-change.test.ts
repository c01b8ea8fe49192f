import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test } from 'node:test'
import { openTestApp, type TestApp } from './app-support.ts'

/** At most so often for one change of a variable of a running project with one workload. */
const most = { resolved: 2, observed: 2, transactions: 3, derived: 3, published: 2 }

test('a change of a variable looks at the project, writes and tells only as often as it must', async (t) => {
  const app = await openTestApp(t)
  const { call, session } = app
  const headers = await session()
  const made = await call('createProject', {
    body: { name: 'Shop', node: { command: ['node', 'app.js'] } },
    query: { wait: '20' },
    headers,
  })
  assert.equal(made.json.status.state, 'running', made.body)
  await call('updateProject', { params: { id: 'shop' }, body: { env: { A: '0' } }, query: { wait: '20' }, headers })
  await new Promise((resolve) => setTimeout(resolve, 600))
  const counts = counted(t, app)
  const { status, json } = await call('updateProject', {
    params: { id: 'shop' },
    body: { env: { A: '1' } },
    query: { wait: '20' },
    headers,
  })
  assert.equal(status, 200)
  assert.equal(json.observedGeneration, json.generation)
  // What is told a moment later counts too.
  await new Promise((resolve) => setTimeout(resolve, 600))
  t.diagnostic(JSON.stringify(counts))
  for (const [what, count] of Object.entries(counts))
    assert.ok(count <= most[what as keyof typeof most], `${what}: ${count}`)
})

test('a change of the name alone is resolved once and written at once', async (t) => {
  const app = await openTestApp(t)
  const headers = await app.session()
  await app.call('createProject', { body: { name: 'Shop', start: false }, query: { wait: '20' }, headers })
  await new Promise((resolve) => setTimeout(resolve, 600))
  const counts = counted(t, app)
  const { json } = await app.call('updateProject', { params: { id: 'shop' }, body: { name: 'Store' }, headers })
  assert.deepEqual([json.name, json.observedGeneration], ['Store', json.generation])
  const { json: read } = await app.call('getProject', { params: { id: 'shop' }, headers })
  assert.deepEqual(read, json)
  await new Promise((resolve) => setTimeout(resolve, 600))
  t.diagnostic(JSON.stringify(counts))
  assert.deepEqual([counts.resolved, counts.transactions], [1, 1])
})

test('a new project that is not started is resolved when it is accepted, and when its files are there, which needs no process', async (t) => {
  const app = await openTestApp(t)
  const headers = await app.session()
  const counts = counted(t, app)
  const processes: ChildProcess[] = []
  const started = (message: unknown) => void processes.push((message as { process: ChildProcess }).process)
  subscribe('child_process', started)
  t.after(() => unsubscribe('child_process', started))
  const body = { name: 'Shop', template: 'express', start: false }
  const made = await app.call('createProject', { body, query: { wait: '20' }, headers })
  assert.equal(made.json.status.state, 'stopped', made.body)
  await new Promise((resolve) => setTimeout(resolve, 600))
  t.diagnostic(JSON.stringify(counts))
  assert.ok(counts.resolved <= 2, `${counts.resolved} times`)
  // It is accepted and begun, its files are there, it is done.
  assert.ok(counts.transactions <= 3, `${counts.transactions} transactions`)
  assert.deepEqual(
    processes.map(({ spawnargs }) => spawnargs),
    [],
  )
})

function counted(t: { after(end: () => void): void }, { app, engine }: TestApp): Record<keyof typeof most, number> {
  const counts = { resolved: 0, observed: 0, transactions: 0, derived: 0, published: 0 }
  for (const name of ['resolved', 'derived', 'published'] as const) {
    const count = () => {
      counts[name] += 1
    }
    subscribe(`stackquay:${name}`, count)
    t.after(() => unsubscribe(`stackquay:${name}`, count))
  }
  const { observe } = engine
  engine.observe = (...args) => {
    counts.observed += 1
    return observe.apply(engine, args)
  }
  const store = app.store as { transaction: typeof app.store.transaction }
  const { transaction } = store
  store.transaction = (work) => {
    counts.transactions += 1
    return transaction.call(store, work) as ReturnType<typeof work>
  }
  return counts
}
