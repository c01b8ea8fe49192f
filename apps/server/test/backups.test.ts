import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Backup, OperationRecord, Plan, Problem, ProjectView } from '@stackquay/contract'
import { admin } from './app-support.ts'
import { openTestApp, type TestApp } from './projects-support.ts'

/** Types whose data is copied while they are stopped. */
const shop = {
  name: 'Shop',
  databases: { main: { type: 'mariadb' } },
  rabbitmq: {},
  env: { KEY: { value: 'öffnet', secret: true } },
}

async function openShop(t: TestContext): Promise<{ app: TestApp; project: ProjectView }> {
  const app = await openTestApp(t)
  // The pretended machine has none of the programs that count what is in data.
  app.engine.commands.exec = async () => ({ code: 127, signal: null, at: new Date().toISOString() })
  const { status, body } = await app.ask('POST', '/projects?wait=10', shop)
  assert.equal(status, 201)
  return { app, project: body }
}

const make = async ({ ask }: TestApp, body: object = {}): Promise<Backup> => {
  const made = await ask<Backup>('POST', '/projects/shop/backups?wait=10', body)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body
}
const idsOf = ({ parts }: Pick<Backup, 'parts'>) => parts.map(({ id }) => id)

test('the plan of a backup names the parts and what stops, and makes none', async (t) => {
  const { app } = await openShop(t)
  const { body } = await app.ask<Plan>('POST', '/projects/shop/backups?dryRun=true', {})
  assert.equal(body.plan.steps.length, 4)
  assert.deepEqual((await app.ask<{ items: Backup[] }>('GET', '/projects/shop/backups')).body.items, [])
})

test('a backup has the parts that were asked for, and always the settings', async (t) => {
  const { app } = await openShop(t)
  assert.deepEqual(idsOf(await make(app, { parts: ['database:main'] })), ['settings', 'database:main'])
  assert.deepEqual(idsOf(await make(app)), ['settings', 'files', 'database:main', 'service:rabbitmq'])
  const refused = await app.ask<Problem>('POST', '/projects/shop/backups', { parts: ['files', 'service:storage'] })
  assert.equal(refused.status, 422)
  assert.deepEqual(
    refused.body.errors?.map(({ pointer, code }) => [pointer, code]),
    [['/parts/1', 'unknown_part']],
  )
})

test('of a project that was never started there is what it has', async (t) => {
  const app = await openTestApp(t)
  await app.ask('POST', '/projects?wait=10', { ...shop, start: false })
  assert.deepEqual(idsOf(await make(app)), ['settings', 'files'])
})

test('what runs is what ran before, whatever was stopped for a copy', async (t) => {
  const { app } = await openShop(t)
  await make(app)
  const { body } = await app.ask('GET', '/projects/shop')
  for (const { name, state } of body.status.workloads) assert.equal(state, 'running', name)
  await app.ask('POST', '/projects/shop/stop?wait=10')
  await make(app)
  for (const { name, state } of (await app.ask('GET', '/projects/shop')).body.status.workloads)
    assert.equal(state, 'stopped', name)
})

test('lists are newest first, page by page, and tell those of projects that are gone', async (t) => {
  const { app } = await openShop(t)
  const made = [await make(app), await make(app), await make(app)].map(({ id }) => id).reverse()
  const first = await app.ask<{ items: Backup[]; nextCursor: string }>('GET', '/projects/shop/backups?limit=2')
  const rest = await app.ask<{ items: Backup[]; nextCursor: null }>(
    'GET',
    `/projects/shop/backups?cursor=${first.body.nextCursor}`,
  )
  assert.deepEqual(
    [...first.body.items, ...rest.body.items].map(({ id }) => id),
    made,
  )
  assert.equal(rest.body.nextCursor, null)
  await app.ask('DELETE', '/projects/shop?confirm=shop&wait=10')
  const of = async (deleted: boolean) =>
    (await app.ask<{ items: Backup[] }>('GET', `/backups?deleted=${deleted}`)).body.items.map(({ id }) => id)
  assert.deepEqual([await of(true), await of(false)], [made, []])
  // The folder is the truth: another service over it knows the same.
  const again = await app.reopen()
  assert.deepEqual(
    (await again.ask<{ items: Backup[] }>('GET', '/backups')).body.items.map(({ id }) => id),
    made,
  )
})

test('a backup of another project is not there for this one', async (t) => {
  const { app } = await openShop(t)
  const { id } = await make(app)
  await app.ask('POST', '/projects?wait=10', { name: 'Other' })
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/download'],
    ['DELETE', ''],
    ['POST', '/verify'],
  ] as const)
    assert.equal((await app.ask(method, `/projects/other/backups/${id}${path}`)).status, 404)
})

test('a restore needs If-Match, the slug and parts that fit, and touches nothing without', async (t) => {
  const { app } = await openShop(t)
  const { id } = await make(app)
  const path = `/projects/shop/backups/${id}/restore`
  const now = { 'if-match': '*' }
  const code = async (body: object, headers: Record<string, string> = {}) =>
    (await app.ask<Problem>('POST', path, body, headers)).body.code
  const before = app.engine.applied.length
  assert.equal(await code({ confirm: 'shop' }), 'precondition_required')
  assert.equal(await code({ confirm: 'shop' }, { 'if-match': '"99"' }), 'precondition_failed')
  assert.equal(await code({ confirm: 'shops' }, now), 'validation_failed')
  assert.equal(await code({ confirm: 'shop', parts: ['service:storage'] }, now), 'validation_failed')
  await app.ask('DELETE', '/projects/shop/databases/main?confirm=main&wait=10')
  const applied = app.engine.applied.length
  const refused = await app.ask<Problem>('POST', path, { confirm: 'shop' }, now)
  assert.equal(refused.status, 422)
  assert.match(refused.body.errors?.[0]?.detail ?? '', /^database:main: the project has no database "main" now/)
  assert.equal(app.engine.applied.length, applied)
  assert.ok(applied > before)
})

test('a restore that fails puts back what was there, and leaves no backup of it', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app)
  const key = `${project.id}/mariadb-main`
  const data = app.engine.machine.data.get(key)
  const file = join(app.folder, 'backups', id, 'database-main.tar.zst')
  const bytes = await readFile(file)
  bytes[bytes.length - 1]! ^= 1
  await writeFile(file, bytes)
  const { body } = await app.ask<OperationRecord>(
    'POST',
    `/projects/shop/backups/${id}/restore?wait=10`,
    { confirm: 'shop' },
    { 'if-match': '*' },
  )
  assert.deepEqual([body.state, body.error?.code], ['failed', 'backup_damaged'])
  assert.equal(app.engine.machine.data.get(key), data)
  assert.deepEqual(await readdir(join(app.folder, 'backups')), [id])
})

test('a restore that cannot start what it put back puts back what was there', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app)
  await app.ask('POST', '/projects/shop/databases/main/credentials/rotate?wait=10')
  const password = async () =>
    (await app.ask<{ password: string }>('GET', '/projects/shop/databases/main/credentials')).body.password
  const rotated = await password()
  app.engine.failNext('start')
  const restored = await app.ask<OperationRecord>(
    'POST',
    `/projects/shop/backups/${id}/restore?wait=20`,
    { confirm: 'shop' },
    { 'if-match': '*' },
  )
  assert.equal(restored.body.state, 'failed', JSON.stringify(restored.body.error))
  assert.equal(await password(), rotated)
  assert.ok(app.engine.machine.data.has(`${project.id}/mariadb-main`))
  assert.deepEqual(await readdir(join(app.folder, 'backups')), [id])
  for (const { name, state } of (await app.ask('GET', '/projects/shop')).body.status.workloads)
    assert.equal(state, 'running', name)
})

test('settings go back when they are named, with the texts of their secrets', async (t) => {
  const { app } = await openShop(t)
  const { id } = await make(app)
  await app.ask('PATCH', '/projects/shop?wait=10', { env: { KEY: { value: 'another' }, MORE: 'x' } })
  const restored = await app.ask<OperationRecord>(
    'POST',
    `/projects/shop/backups/${id}/restore?wait=10`,
    { confirm: 'shop', parts: ['settings'] },
    { 'if-match': '*' },
  )
  assert.equal(restored.body.state, 'succeeded', JSON.stringify(restored.body.error))
  const { body } = await app.ask<{ value: string }>('GET', '/projects/shop/env/KEY?reveal=true')
  assert.equal(body.value, 'öffnet')
  const project = (await app.ask('GET', '/projects/shop')).body
  assert.equal(project.env.MORE, undefined)
  assert.equal(project.observedGeneration, project.generation)
})

test('while a backup runs a change is accepted and waits; another backup, and what deletes, is not', async (t) => {
  const { app } = await openShop(t)
  const hung = app.engine.hangNext('stop')
  const begun = await app.ask<OperationRecord>('POST', '/projects/shop/backups', {})
  assert.equal(begun.status, 202)
  await hung.reached
  const stop = await app.ask<OperationRecord>('POST', '/projects/shop/stop')
  assert.equal(stop.body.state, 'queued')
  assert.equal((await app.ask<Problem>('POST', '/projects/shop/backups', {})).body.code, 'busy')
  await app.ask('POST', `/operations/${begun.body.id}/cancel?wait=10`)
  const ended = await app.ask<OperationRecord>('GET', `/operations/${stop.body.id}?wait=10`)
  assert.equal(ended.body.state, 'succeeded')
  assert.deepEqual(await readdir(join(app.folder, 'backups')).catch(() => []), [])
})

test('after the secret key was replaced old backups open, here and by their manifests alone', async (t) => {
  const { app } = await openShop(t)
  const { id } = await make(app)
  const manifest = join(app.folder, 'backups', id, 'manifest.json')
  const before = JSON.parse(await readFile(manifest, 'utf8')).key.keyId
  const login = await app.app.http.inject({ method: 'POST', url: '/api/v1/auth/login', payload: admin })
  const headers = {
    cookie: String(login.headers['set-cookie']).split(';')[0]!,
    'x-csrf-token': login.json().csrfToken,
    host: 'localhost',
  }
  const url = '/api/v1/settings/secret-key/replace'
  const replaced = await app.app.http.inject({ method: 'POST', url, headers, payload: { password: admin.password } })
  assert.equal(replaced.statusCode, 200, replaced.body)
  const after = JSON.parse(await readFile(manifest, 'utf8')).key.keyId
  assert.notEqual(after, before)
  assert.equal(after, replaced.json().id)
  const again = await app.reopen()
  const made = await again.ask('POST', `/backups/${id}/restore-as?wait=10`, { name: 'Once more' })
  assert.equal(made.status, 201, JSON.stringify(made.body))
})

test('a copy beside the original leaves out names that others have, and gets ports and secrets of its own', async (t) => {
  const { app } = await openShop(t)
  await app.ask('POST', '/projects/shop/domains', { host: 'shop.example.org' })
  const { id } = await make(app)
  const plan = await app.ask<Plan>('POST', `/backups/${id}/restore-as?dryRun=true`, { name: 'Copy' })
  assert.ok(plan.body.plan.warnings.some((text) => text.includes('shop.example.org')))
  const copy = await app.ask('POST', `/backups/${id}/restore-as?wait=10`, { name: 'Copy', start: true })
  assert.equal(copy.status, 201, JSON.stringify(copy.body))
  const original = (await app.ask('GET', '/projects/shop')).body
  assert.notEqual(copy.body.databases.main?.hostPort, original.databases.main?.hostPort)
  assert.equal((await app.ask<{ value: string }>('GET', '/projects/copy/env/KEY?reveal=true')).body.value, 'öffnet')
  assert.equal((await app.ask<Problem>('POST', `/backups/${id}/restore-as`, { name: 'Copy' })).body.code, 'conflict')
})

test('a backup whose secret key is another one is shown as locked, and its files are restored all the same', async (t) => {
  const { app } = await openShop(t)
  const { id } = await make(app)
  const manifest = join(app.folder, 'backups', id, 'manifest.json')
  const { key, ...rest } = JSON.parse(await readFile(manifest, 'utf8'))
  await app.ask('DELETE', '/projects/shop/backups/none')
  // As of another instance: sealed with a key that is not here, and nothing of it in the store.
  const handle = await app.store.secrets.find(null, `backup/${id}`)
  assert.ok(handle)
  await app.store.transaction((tx) => tx.secrets.delete(null, `backup/${id}`))
  await writeFile(manifest, JSON.stringify({ ...rest, key: { ...key, keyId: '000000000000' } }))
  const again = await app.reopen()
  const shown = (await again.ask<Backup>('GET', `/backups/${id}`)).body
  assert.equal(shown.opensHere, false)
  assert.equal(
    (await again.ask<Problem>('POST', `/backups/${id}/restore-as`, { name: 'No' })).body.code,
    'backup_locked',
  )
  const restore = (parts: string[]) =>
    again.ask<OperationRecord & Problem>(
      'POST',
      `/projects/shop/backups/${id}/restore?wait=10`,
      { confirm: 'shop', parts },
      { 'if-match': '*' },
    )
  assert.equal((await restore(['database:main'])).body.code, 'backup_locked')
  assert.equal((await restore(['files'])).body.state, 'succeeded')
})
