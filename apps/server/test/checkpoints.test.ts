import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Checkpoint, OperationRecord, Plan, Problem, ProjectView } from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import { waitFor } from '@stackquay/testkit/wait-for'
import { openTestApp, type TestApp } from './projects-support.ts'

const shop = {
  name: 'Shop',
  databases: { main: { type: 'mariadb' }, second: { type: 'postgresql', exposePort: true } },
  env: { PLAIN: 'then', API_KEY: { value: 'first', secret: true } },
}
const path = '/projects/shop/checkpoints'
const now = { 'if-match': '*' }

async function openShop(t: TestContext): Promise<{ app: TestApp; project: ProjectView }> {
  const app = await openTestApp(t)
  const { status, body } = await app.ask('POST', '/projects?wait=10', shop)
  assert.equal(status, 201)
  await writeFile(join(body.path, 'index.txt'), 'then')
  return { app, project: body }
}

const make = async ({ ask }: TestApp, name: string): Promise<Checkpoint> => {
  const made = await ask<Checkpoint>('POST', `${path}?wait=10`, { name })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body
}
const list = async ({ ask }: TestApp) => (await ask<{ items: Checkpoint[] }>('GET', path)).body.items
const restore = ({ ask }: TestApp, id: string, body: object = {}, query = '?wait=10') =>
  ask<OperationRecord>('POST', `${path}/${id}/restore${query}`, { confirm: 'shop', ...body }, now)
const dataOf = ({ engine }: TestApp, project: string) =>
  [...engine.machine.data.keys()]
    .filter((key) => key.startsWith(`${project}/`))
    .map((key) => key.slice(project.length + 1))
    .sort()
const show = async ({ ask }: TestApp) => (await ask('GET', '/projects/shop')).body
const statesOf = async (app: TestApp) => (await show(app)).status.workloads.map(({ state }) => state)
const secretOf = async ({ ask }: TestApp) =>
  (await ask<{ value: string }>('GET', '/projects/shop/env/API_KEY?reveal=true')).body.value

test('the plan says what stops and how all is copied; nothing is made', async (t) => {
  const { app } = await openShop(t)
  const { plan } = (await app.ask<Plan>('POST', `${path}?dryRun=true`)).body
  assert.deepEqual([...plan.restarts].sort(), ['mariadb-main', 'postgresql-second'])
  const because = plan.steps.flatMap((step) => step.because)
  assert.match(because[0] ?? '', /copy-on-write/)
  assert.match(because.at(-1) ?? '', /are copied/)
  assert.deepEqual(await list(app), [])
})

test('a checkpoint holds all data, the source and the settings, and what ran runs', async (t) => {
  const { app, project } = await openShop(t)
  const made = await make(app, ' before the upgrade ')
  assert.deepEqual([made.name, made.source, made.warnings], ['before the upgrade', 'manual', []])
  assert.deepEqual(
    made.parts.map(({ name, method }) => `${name} ${method}`),
    ['source copy', 'mariadb-main copy-on-write', 'postgresql-second copy-on-write'],
  )
  assert.deepEqual(dataOf(app, project.id), [
    made.id,
    `${made.id}-mariadb-main`,
    `${made.id}-postgresql-second`,
    'mariadb-main',
    'postgresql-second',
  ])
  assert.deepEqual(await statesOf(app), ['running', 'running'])
  assert.deepEqual((await app.ask('GET', `${path}/${made.id}`)).body, made)
  const again = await app.ask<Problem>('POST', path, { name: 'before the upgrade' })
  assert.deepEqual([again.status, again.body.code], [409, 'conflict'])
  for (const name of ['', 'two\nlines', 'x'.repeat(81), '\u202egnp'])
    assert.equal((await app.ask('POST', path, { name })).status, 422, JSON.stringify(name))
  assert.equal((await app.ask('GET', `${path}/chk_01kq3z8v5mexample`)).status, 404)
  // A copy of all, not of the copies.
  const second = await make(app, 'second')
  assert.equal(second.parts.length, 3)
})

test('a stopped project has checkpoints too, and stays stopped', async (t) => {
  const { app } = await openShop(t)
  await app.ask('POST', '/projects/shop/stop?wait=10')
  const { id, parts } = await make(app, 'quiet')
  assert.equal(parts.length, 3)
  assert.equal((await restore(app, id)).body.state, 'succeeded')
  assert.equal((await show(app)).status.state, 'stopped')
})

test('one that fails or is cancelled leaves nothing, and what ran runs', async (t) => {
  const { app, project } = await openShop(t)
  const before = dataOf(app, project.id)
  const copy = app.engine.copyData
  app.engine.copyData = async (from, to, options, signal) => {
    if (from.name === 'postgresql-second')
      throw new EngineError('disk_full', 'The disk is full.', { hint: 'Free some.' })
    return copy(from, to, options, signal)
  }
  const failed = await app.ask<OperationRecord>('POST', `${path}?wait=10`, { name: 'one' })
  assert.deepEqual([failed.body.state, failed.body.error?.code], ['failed', 'disk_full'])
  assert.deepEqual([dataOf(app, project.id), await list(app)], [before, []])
  assert.deepEqual(await statesOf(app), ['running', 'running'])
  app.engine.copyData = copy

  const hang = app.engine.hangNext('stop')
  const begun = await app.ask<OperationRecord>('POST', path, { name: 'two' })
  await hang.reached
  const cancelled = await app.ask<OperationRecord>('POST', `/operations/${begun.body.id}/cancel?wait=10`)
  hang.release()
  assert.equal(cancelled.body.state, 'cancelled')
  assert.deepEqual([dataOf(app, project.id), await list(app)], [before, []])
  assert.deepEqual(await statesOf(app), ['running', 'running'])
})

test('a restore needs If-Match and the slug, and brings back settings, secrets, data and source', async (t) => {
  const { app, project } = await openShop(t)
  const { archives } = app.engine.machine
  const key = `${project.id}/mariadb-main`
  archives.set(key, Buffer.from('then'))
  const portOf = async () =>
    (await app.ask<{ hostPort: number }>('GET', '/projects/shop/databases/second/credentials')).body.hostPort
  const port = await portOf()
  const first = await make(app, 'first')
  const code = async (body: object, headers: Record<string, string> = {}) =>
    (await app.ask<Problem>('POST', `${path}/${first.id}/restore`, body, headers)).body.code
  assert.equal(await code({ confirm: 'shop' }), 'precondition_required')
  assert.equal(await code({ confirm: 'shop' }, { 'if-match': '"99"' }), 'precondition_failed')
  assert.equal(await code({ confirm: 'main' }, now), 'validation_failed')

  archives.set(key, Buffer.from('later'))
  const change = {
    env: { PLAIN: 'later', API_KEY: { value: 'other', secret: true }, MORE: { value: 'more', secret: true } },
    databases: { third: { type: 'mariadb' } },
  }
  await app.ask('PATCH', '/projects/shop?wait=10', change)
  await app.ask('DELETE', '/projects/shop/databases/second?confirm=second&wait=10')
  await writeFile(join(project.path, 'index.txt'), 'later')
  await writeFile(join(project.path, 'new.txt'), 'new')
  const generation = (await show(app)).generation

  const { plan } = (await app.ask<Plan>('POST', `${path}/${first.id}/restore?dryRun=true`, { confirm: '' })).body
  assert.deepEqual([...plan.deletesData].sort(), ['mariadb-main', 'mariadb-third'])
  assert.ok(plan.changes.length >= 3, JSON.stringify(plan.changes))
  const restored = await restore(app, first.id)
  assert.equal(restored.body.state, 'succeeded', JSON.stringify(restored.body.error))
  assert.equal(archives.get(key)?.toString(), 'then')
  const back = await show(app)
  assert.deepEqual(Object.keys(back.databases), ['main', 'second'])
  assert.deepEqual([back.env.PLAIN?.value, back.env.MORE, await secretOf(app)], ['then', undefined, 'first'])
  assert.ok(back.generation > generation)
  assert.equal(await portOf(), port)
  assert.equal(await readFile(join(project.path, 'index.txt'), 'utf8'), 'then')
  assert.deepEqual(await readdir(project.path), ['index.txt'])
  assert.deepEqual(await statesOf(app), ['running', 'running'])
  assert.ok(!dataOf(app, project.id).includes('mariadb-third'))

  const [before] = await list(app)
  assert.equal(before?.source, 'before-restore')
  assert.equal((await restore(app, before!.id)).body.state, 'succeeded')
  const undone = await show(app)
  assert.deepEqual(Object.keys(undone.databases), ['main', 'third'])
  assert.deepEqual([undone.env.PLAIN?.value, await secretOf(app)], ['later', 'other'])
  assert.equal(archives.get(key)?.toString(), 'later')
  assert.deepEqual((await readdir(project.path)).sort(), ['index.txt', 'new.txt'])
})

test('what opens the repository stays as it is, and data that comes back empty is not filled from a seed', async (t) => {
  const { app, project } = await openShop(t)
  const keyOf = async () =>
    (await app.ask<{ deployKey: { publicKey: string } | null }>('GET', '/projects/shop/git')).body.deployKey?.publicKey
  await app.ask('POST', '/projects/shop/git/deploy-key')
  const old = await keyOf()
  const made = await make(app, 'first')
  await app.ask('POST', '/projects/shop/git/deploy-key')
  const replaced = await keyOf()
  assert.ok(old !== undefined && replaced !== undefined && old !== replaced)
  const seedOf = () => app.store.seeds.find(project.id, 'postgresql-second')
  assert.equal(await seedOf(), null)
  assert.equal((await restore(app, made.id)).body.state, 'succeeded')
  assert.deepEqual([await keyOf(), await seedOf()], [replaced, 'done'])
})

test('a restore that fails half-way puts back what was there; one whose project does not start stays', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  const key = `${project.id}/mariadb-main`
  const { archives } = app.engine.machine
  archives.set(key, Buffer.from('later'))
  await app.ask('PATCH', '/projects/shop?wait=10', { env: { PLAIN: 'later' } })
  await writeFile(join(project.path, 'index.txt'), 'later')
  const copy = app.engine.copyData
  app.engine.copyData = async (from, to, options, signal) => {
    if (from.name === `${id}-postgresql-second`)
      throw new EngineError('disk_full', 'Full.', { hint: 'Free some space.' })
    return copy(from, to, options, signal)
  }
  const failed = await restore(app, id)
  assert.deepEqual([failed.body.state, failed.body.error?.code], ['failed', 'disk_full'])
  app.engine.copyData = copy
  assert.equal(archives.get(key)?.toString(), 'later')
  assert.equal(await readFile(join(project.path, 'index.txt'), 'utf8'), 'later')
  assert.equal((await show(app)).env.PLAIN?.value, 'later')
  assert.deepEqual(await statesOf(app), ['running', 'running'])
  assert.deepEqual(
    (await list(app)).map((one) => one.id),
    [id],
  )
  const undone = await show(app)
  assert.equal(undone.observedGeneration, undone.generation)

  app.engine.failNext('start')
  const down = await restore(app, id)
  assert.equal(down.body.state, 'failed')
  assert.equal((await show(app)).env.PLAIN?.value, 'then')
  assert.deepEqual(
    (await list(app)).map(({ source }) => source),
    ['before-restore', 'manual'],
  )
})

test('one whose undoing fails too stays down, and keeps what was replaced', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  const copy = app.engine.copyData
  app.engine.copyData = async (from, to, options, signal) => {
    if (from.name.endsWith('-postgresql-second'))
      throw new EngineError('disk_full', 'Full.', { hint: 'Free some space.' })
    return copy(from, to, options, signal)
  }
  assert.equal((await restore(app, id)).body.state, 'failed')
  app.engine.copyData = copy
  assert.equal((await show(app)).status.state, 'stopped')
  const [before] = await list(app)
  assert.equal(before?.source, 'before-restore')
  assert.equal((await restore(app, before!.id)).body.state, 'succeeded')
  assert.ok(dataOf(app, project.id).includes('postgresql-second'))
})

test('the newest three that restores made stay, and the one that was restored', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  for (let turn = 0; turn < 5; turn += 1) assert.equal((await restore(app, id)).body.state, 'succeeded')
  const kept = await list(app)
  assert.deepEqual(
    kept.map(({ source }) => source),
    ['before-restore', 'before-restore', 'before-restore', 'manual'],
  )
  const copies = dataOf(app, project.id).filter((name) => name.startsWith('chk_'))
  assert.deepEqual([...new Set(copies.map((name) => name.split('-')[0]))].sort(), kept.map((one) => one.id).sort())
})

test('names and ports of others are told before anything is touched, and can be left out', async (t) => {
  const { app, project } = await openShop(t)
  await app.ask('POST', '/projects/shop/domains', { host: 'shop.example.org' })
  const { id } = await make(app, 'first')
  await app.ask('DELETE', '/projects/shop/domains/shop.example.org')
  await app.ask('POST', '/projects?wait=10', { name: 'Other' })
  await app.ask('POST', '/projects/other/domains', { host: 'shop.example.org' })
  const applied = app.engine.applied.length
  const refused = await restore(app, id)
  const { code, detail, hint } = refused.body as unknown as Problem
  assert.deepEqual([refused.status, code], [409, 'conflict'])
  assert.match(`${detail} ${hint}`, /"shop\.example\.org" belongs to the project "other"[\s\S]*leaveOutTaken/)
  assert.equal(app.engine.applied.length, applied)
  assert.equal((await list(app)).length, 1)
  const left = await restore(app, id, { leaveOutTaken: true })
  assert.equal(left.body.state, 'succeeded')
  assert.ok(JSON.stringify(left.body.steps).includes('belongs to another project now and is left out'))
  assert.ok(project)
})

test('what is deleted is gone; what is being restored is not deleted', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  const hang = app.engine.hangNext('stop')
  const restoring = await restore(app, id, {}, '')
  await hang.reached
  const refused = await app.ask<Problem>('DELETE', `${path}/${id}`)
  assert.deepEqual([refused.status, refused.body.code], [409, 'busy'])
  hang.release()
  await app.ask('GET', `/operations/${restoring.body.id}?wait=10`)
  for (const one of await list(app)) assert.equal((await app.ask('DELETE', `${path}/${one.id}`)).status, 204)
  assert.deepEqual(dataOf(app, project.id), ['mariadb-main', 'postgresql-second'])
})

test('data of a checkpoint that was never whole goes with the next start; one whose data is gone is not restored', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  const { data } = app.engine.machine
  data.set(`${project.id}/chk_01kq3z8v5mleftover`, 5)
  data.set(`${project.id}/chk_01kq3z8v5mleftover-mariadb-main`, 5)
  const again = await app.reopen()
  await again.ask('GET', '/projects/shop')
  const kept = dataOf(again, project.id).filter((name) => name.startsWith('chk_'))
  assert.deepEqual(kept, [id, `${id}-mariadb-main`, `${id}-postgresql-second`])
  data.delete(`${project.id}/${id}-mariadb-main`)
  const refused = await restore(again, id)
  assert.equal((refused.body as unknown as Problem).code, 'engine_cannot')
  assert.equal((await again.ask('DELETE', `${path}/${id}`)).status, 204)
})

test('a duplicate and a backup have no checkpoints; the trash brings them back with their project', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  app.engine.nextCommand({ output: [{ text: 'ready\n{}\n' }], exit: { code: 0 } })
  const { body } = await app.ask('POST', '/projects/shop/duplicate?wait=10', { name: 'Copy' })
  assert.deepEqual(dataOf(app, body.id), ['mariadb-main', 'postgresql-second'])
  assert.deepEqual((await app.ask<{ items: unknown[] }>('GET', '/projects/copy/checkpoints')).body.items, [])
  await app.ask('DELETE', '/projects/shop?confirm=shop&data=delete&wait=10')
  const { items } = (await app.ask<{ items: { id: string; project: { id: string } }[] }>('GET', '/trash')).body
  const item = items.find((one) => one.project.id === project.id)
  const returned = await app.ask('POST', `/trash/${item?.id}/restore?wait=10`, {})
  assert.ok(returned.status < 300, JSON.stringify(returned.body))
  assert.deepEqual(
    (await list(app)).map((one) => one.id),
    [id],
  )
  assert.equal((await restore(app, id)).body.state, 'succeeded')
  assert.equal(await secretOf(app), 'first')
})

test('a source folder that is gone is made again', async (t) => {
  const { app, project } = await openShop(t)
  await mkdir(join(project.path, 'node_modules', 'kept'), { recursive: true })
  const { id } = await make(app, 'first')
  await rm(project.path, { recursive: true })
  const restored = await restore(app, id)
  assert.equal(restored.body.state, 'succeeded', JSON.stringify(restored.body.error))
  assert.equal(await readFile(join(project.path, 'index.txt'), 'utf8'), 'then')
  const [before] = await list(app)
  assert.match(before?.warnings.join() ?? '', /There is no source folder/)
})

test('a restore that is cancelled when all was put back is undone, and leaves nothing of itself', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  await app.ask('PATCH', '/projects/shop?wait=10', { env: { PLAIN: 'later' } })
  await writeFile(join(project.path, 'index.txt'), 'later')
  const hang = app.engine.hangNext('start')
  const begun = await restore(app, id, {}, '')
  await hang.reached
  assert.equal((await show(app)).env.PLAIN?.value, 'then')
  const cancelled = await app.ask<OperationRecord>('POST', `/operations/${begun.body.id}/cancel?wait=10`)
  hang.release()
  assert.equal(cancelled.body.state, 'cancelled')
  assert.equal((await show(app)).env.PLAIN?.value, 'later')
  assert.equal(await readFile(join(project.path, 'index.txt'), 'utf8'), 'later')
  assert.deepEqual(await statesOf(app), ['running', 'running'])
  assert.deepEqual(
    (await list(app)).map((one) => one.id),
    [id],
  )
})

for (const at of ['put', 'start'] as const)
  test(`a restore goes on when the service ended in the middle of it (${at})`, async (t) => {
    const { app, project } = await openShop(t)
    const { archives } = app.engine.machine
    const key = `${project.id}/postgresql-second`
    archives.set(key, Buffer.from('then'))
    const { id } = await make(app, 'first')
    archives.set(key, Buffer.from('later'))
    await app.ask('PATCH', '/projects/shop?wait=10', { env: { PLAIN: 'later' } })
    await writeFile(join(project.path, 'index.txt'), 'later')
    const reached = Promise.withResolvers<void>()
    const copy = app.engine.copyData
    const hang = at === 'start' ? app.engine.hangNext('start') : null
    if (at === 'put')
      app.engine.copyData = (from, to, options, signal) => {
        if (from.name !== `${id}-postgresql-second`) return copy(from, to, options, signal)
        reached.resolve()
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      }
    const begun = await restore(app, id, {}, '')
    await (hang?.reached ?? reached.promise)
    // What was there is half gone.
    assert.equal(dataOf(app, project.id).includes('postgresql-second'), at === 'start')
    const again = await app.reopen()
    app.engine.copyData = copy
    hang?.release()
    await waitFor('its end', async () => (await again.store.operations.unfinishedOf(project.id)).length === 0)
    assert.equal((await again.store.operations.find(begun.body.id))?.state, 'succeeded')
    assert.equal(archives.get(key)?.toString(), 'then')
    assert.equal(await readFile(join(project.path, 'index.txt'), 'utf8'), 'then')
    assert.equal((await show(again)).env.PLAIN?.value, 'then')
    const [before] = await list(again)
    assert.equal(archives.get(`${project.id}/${before?.id}-postgresql-second`)?.toString(), 'later')
    assert.equal((await restore(again, before!.id)).body.state, 'succeeded')
    assert.equal(archives.get(key)?.toString(), 'later')
  })
