import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitFor } from '@stackquay/testkit/wait-for'
import { openTestApp, type PlanAnswer, type ProblemAnswer, type TestApp } from './projects-support.ts'

/** A project that runs with A=1 and T=old, and whose newest settings were written, cancelled while they waited, and not carried out. */
async function withNotApplied(t: Parameters<typeof openTestApp>[0], patch: object) {
  const app = await openTestApp(t)
  const { ask, engine } = app
  engine.machine.files.has = () => true
  const env = { A: '1', T: { value: 'old', secret: true }, GONE: { value: 'kept', secret: true } }
  const { id } = (await ask('POST', '/projects?wait=30', { name: 'Shop', static: {}, env })).body
  const hang = engine.hangNext('start')
  await ask('POST', '/projects/shop/restart')
  await hang.reached
  const changed = await ask('PATCH', '/projects/shop', patch)
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
  assert.equal((await ask('POST', `/operations/${changed.body.operation?.id}/cancel`)).status, 200)
  hang.release()
  await waitFor('the restart to end', async () => (await app.store.operations.unfinishedOf(id)).length === 0)
  assert.deepEqual(await warnings(app), ['not_applied'])
  return { app, id }
}

const warnings = async ({ ask }: TestApp) =>
  (await ask('GET', '/projects/shop')).body.status.warnings.map(({ code }) => code)

/** What the program has in its environment, texts of secrets too. */
async function environment({ engine, store }: TestApp, id: string): Promise<Record<string, string>> {
  const env = engine.machine.workloads.get(`${id}/static`)?.workload.env ?? {}
  const texts = Object.entries(env).map(async ([name, value]) => {
    const parts = await Promise.all(
      [value]
        .flat()
        .map(async (part) =>
          typeof part === 'string' ? part : (await store.secrets.reveal(part.secret, part.version)).expose(),
        ),
    )
    return [name, parts.join('')]
  })
  return Object.fromEntries(await Promise.all(texts))
}

const own = ({ A, B, T, GONE }: Record<string, string>) => ({ A, B, T, GONE })
const newest = { env: { A: '2', B: 'more', T: { value: 'new' }, GONE: null } }

test('what was not applied is applied, once', async (t) => {
  const { app, id } = await withNotApplied(t, newest)
  const { ask } = app
  assert.deepEqual(own(await environment(app, id)), { A: '1', B: undefined, T: 'old', GONE: 'kept' })
  const planned = await ask<PlanAnswer>('POST', '/projects/shop/apply?dryRun=true')
  assert.deepEqual(planned.body.plan.restarts, ['static'])
  const applied = await ask('POST', '/projects/shop/apply?wait=30')
  assert.equal(applied.status, 200, JSON.stringify(applied.body))
  assert.equal(applied.body.operation?.state, 'succeeded')
  assert.equal(applied.body.observedGeneration, applied.body.generation)
  assert.deepEqual(own(await environment(app, id)), { A: '2', B: 'more', T: 'new', GONE: undefined })
  assert.deepEqual(await warnings(app), [])
  for (const act of ['apply', 'revert']) {
    const { status, body } = await ask<ProblemAnswer>('POST', `/projects/shop/${act}`)
    assert.deepEqual([status, body.code], [409, 'nothing_to_apply'])
    assert.match(body.detail, /are applied already/)
  }
})

test('what was not applied is given up: settings and texts of secrets are those that ran, also after an end of the service', async (t) => {
  const { app: first, id } = await withNotApplied(t, newest)
  const before = (await first.ask('GET', '/projects/shop')).body
  const reader = await first.as('read')
  assert.equal((await reader('POST', '/projects/shop/revert')).status, 403)
  assert.equal((await first.ask('POST', '/projects/shop/revert', undefined, { 'if-match': '"1"' })).status, 412)
  const planned = await first.ask<PlanAnswer>('POST', '/projects/shop/revert?dryRun=true')
  assert.deepEqual(planned.body.plan.changes.map(({ field }) => field).toSorted(), [
    'env.A',
    'env.B',
    'env.GONE',
    'env.T',
  ])
  assert.equal((await first.ask('GET', '/projects/shop')).body.generation, before.generation)

  const app = await first.reopen()
  const reverted = await app.ask('POST', '/projects/shop/revert?wait=30')
  assert.equal(reverted.status, 200, JSON.stringify(reverted.body))
  const { generation, observedGeneration, env } = reverted.body
  assert.deepEqual([generation, observedGeneration], [before.generation + 1, before.generation + 1])
  assert.deepEqual(Object.keys(env).toSorted(), ['A', 'GONE', 'T'])
  assert.deepEqual(own(await environment(app, id)), { A: '1', B: undefined, T: 'old', GONE: 'kept' })
  const shown = await app.ask<{ value: string }>('GET', '/projects/shop/env/T?reveal=true')
  assert.equal(shown.body.value, 'old')
  assert.deepEqual(await warnings(app), [])
  const { body: audit } = await app.ask<{ items: { action: string }[] }>('GET', '/audit?limit=20')
  assert.ok(audit.items.some(({ action }) => action === 'project.revert'))
})

test('nothing goes back that would leave a database behind, and nothing is changed by asking', async (t) => {
  const { app } = await withNotApplied(t, { env: { A: '2' }, databases: { main: { type: 'postgresql' } } })
  const before = (await app.ask('GET', '/projects/shop')).body
  const { status, body } = await app.ask<ProblemAnswer>('POST', '/projects/shop/revert')
  assert.deepEqual([status, body.code], [409, 'cannot_revert'])
  assert.match(String(body.hint), /The database "main" is new\. Drop it first, or apply the settings\./)
  const { generation, databases } = (await app.ask('GET', '/projects/shop')).body
  assert.deepEqual([generation, Object.keys(databases)], [before.generation, ['main']])
})

test('while they are being carried out, going back is carried out after it', async (t) => {
  const { app, id } = await withNotApplied(t, newest)
  const hang = app.engine.hangNext('start')
  assert.equal((await app.ask('POST', '/projects/shop/apply')).status, 200)
  const going = app.ask('POST', '/projects/shop/revert?wait=30')
  setTimeout(() => hang.release(), 100)
  const { status, body } = await going
  assert.equal(status, 200, JSON.stringify(body))
  await waitFor('both to end', async () => (await app.store.operations.unfinishedOf(id)).length === 0)
  assert.deepEqual(own(await environment(app, id)), { A: '1', B: undefined, T: 'old', GONE: 'kept' })
  assert.deepEqual(await warnings(app), [])
})

test('what concerns no program that runs is given up at once; a service that is new is switched off, and its data is kept', async (t) => {
  const { app, id } = await withNotApplied(t, { env: { T: { value: 'new' }, ONLY: 'x' }, redis: {} })
  const { ask, store } = app
  const reverted = await ask('POST', '/projects/shop/revert?wait=30')
  assert.equal(reverted.status, 200, JSON.stringify(reverted.body))
  assert.equal(reverted.body.observedGeneration, reverted.body.generation)
  assert.deepEqual(await warnings(app), [])
  assert.equal((await store.projects.find(id))?.spec.services.redis?.enabled, false)
  // A secret that is for a runtime which is off is in no program.
  const hidden = { value: 'one', secret: true, runtimes: ['python'] }
  await ask('PATCH', '/projects/shop?wait=30', { env: { HIDDEN: hidden } })
  const hang = app.engine.hangNext('start')
  await ask('POST', '/projects/shop/restart')
  await hang.reached
  const changed = await ask('PATCH', '/projects/shop', { env: { HIDDEN: { value: 'two' }, A: '9' } })
  await ask('POST', `/operations/${changed.body.operation?.id}/cancel`)
  hang.release()
  await waitFor('the restart to end', async () => (await store.operations.unfinishedOf(id)).length === 0)
  const back = await ask('POST', '/projects/shop/revert?wait=30')
  assert.deepEqual([back.status, back.body.observedGeneration], [200, back.body.generation])
  assert.deepEqual(await warnings(app), [])
  const shown = await ask<{ value: string }>('GET', '/projects/shop/env/HIDDEN?reveal=true')
  assert.equal(shown.body.value, 'one')
})
