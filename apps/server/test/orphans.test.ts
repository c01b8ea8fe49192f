import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Diagnostics, Orphan } from '@stackquay/contract'
import type { z } from 'zod'
import { openTestApp, type ProblemAnswer } from './projects-support.ts'

type DiagnosticsAnswer = z.output<typeof Diagnostics>

test('what engines hold for projects that are gone is listed, and goes when an administrator says so', async (t) => {
  const { ask, as, engine, store } = await openTestApp(t)
  await ask('POST', '/projects?wait=30', { name: 'Shop', databases: { main: { type: 'postgresql' } } })
  const { id } = (await store.projects.find('shop'))!
  assert.equal((await ask('POST', '/projects/shop/terminals', {})).status, 201)
  assert.equal(engine.machine.commands.size, 1)
  // The project goes behind the engine's back, as with a database that was put back from a copy.
  await store.transaction((tx) => tx.projects.delete(id))

  const { body } = await ask<DiagnosticsAnswer>('GET', '/system/diagnostics')
  const data = ['postgresql-main']
  assert.deepEqual(body.orphans, [{ id, workloads: [{ name: 'postgresql-main', running: true }], data, asides: [] }])
  const check = body.checks.find((one) => one.id === 'orphans')!
  assert.equal(check.status, 'warning')
  assert.match(check.fix ?? '', new RegExp(`DELETE '/system/orphans/${id}\\?data=keep'`))

  const operator = await as('operate')
  assert.equal((await operator('DELETE', `/system/orphans/${id}?data=keep`)).status, 403)
  assert.equal((await ask<ProblemAnswer>('DELETE', `/system/orphans/${id}`)).status, 400)
  assert.equal(engine.machine.workloads.size, 1, 'a request that does not say what becomes of the data removes nothing')

  const kept = await ask<Orphan>('DELETE', `/system/orphans/${id}?data=keep`)
  assert.deepEqual([kept.status, kept.body.workloads.length, kept.body.data], [200, 1, []])
  const { workloads, commands, logs } = engine.machine
  assert.deepEqual([workloads.size, commands.size, logs.size], [0, 0, 0])
  assert.deepEqual(await engine.dataNames(id, AbortSignal.timeout(1000)), data)

  const gone = await ask<Orphan>('DELETE', `/system/orphans/${id}?data=delete`)
  assert.deepEqual([gone.status, gone.body.data], [200, data])
  assert.deepEqual(await engine.dataNames(id, AbortSignal.timeout(1000)), [])
  const entries = await store.audit.list({ limit: 10, action: 'system.orphan.delete', outcome: 'success' })
  assert.deepEqual(
    entries.map(({ target, changes }) => [target, (changes as { data: string }).data]),
    [
      [id, 'delete'],
      [id, 'keep'],
    ],
  )
  assert.equal((await ask<ProblemAnswer>('DELETE', `/system/orphans/${id}?data=delete`)).status, 404)
})

test('what a project owns is no orphan', async (t) => {
  const { ask, engine, store } = await openTestApp(t)
  await ask('POST', '/projects?wait=30', { name: 'Shop', databases: { main: { type: 'postgresql' } } })
  const { id } = (await store.projects.find('shop'))!
  for (const name of [id, 'shop']) {
    const answer = await ask<ProblemAnswer>('DELETE', `/system/orphans/${name}?data=delete`)
    assert.deepEqual([answer.status, answer.body.code], [409, 'conflict'])
  }
  assert.equal(engine.machine.workloads.size, 1)
  assert.deepEqual((await ask<DiagnosticsAnswer>('GET', '/system/diagnostics')).body.orphans, [])
})

test('engines are told with their readiness, their projects and what of ours is on them', async (t) => {
  const { ask, engine } = await openTestApp(t)
  engine.usage = async () => [{ what: 'containers', count: 2, sizeBytes: null }]
  const look = async () => (await ask<DiagnosticsAnswer>('GET', '/system/diagnostics')).body
  const [state] = (await look()).engines
  assert.deepEqual([state?.id, state?.usual, state?.ready], ['fake', true, true])
  assert.deepEqual(state?.usage, [{ what: 'containers', count: 2, sizeBytes: null }])

  engine.setUnavailable('Nobody answers.')
  const away = await look()
  assert.deepEqual([away.status, away.engines[0]?.ready, away.engines[0]?.detail], ['error', false, 'Nobody answers.'])
  assert.deepEqual(away.engines[0]?.usage, [])
  const health = await ask<{ status: string; engine: object; engines: object[] }>('GET', '/health')
  assert.deepEqual(
    [health.body.status, health.body.engine, health.body.engines],
    ['degraded', { id: 'fake', ready: false }, [{ id: 'fake', ready: false }]],
  )
})
