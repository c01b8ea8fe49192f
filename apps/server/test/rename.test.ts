import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEntry, Domain, ProjectView } from '@stackquay/contract'
import { openTestApp, type PlanAnswer, type ProblemAnswer, type TestApp } from './projects-support.ts'

const dayMs = 24 * 60 * 60 * 1000

async function withShop(app: TestApp, more: object = {}): Promise<ProjectView> {
  const made = await app.ask('POST', '/projects?wait=30', { name: 'Shop', node: {}, ...more })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body
}

const rename = <T = ProjectView>(app: TestApp, id: string, body: object, query = '?wait=30') =>
  app.ask<T>('POST', `/projects/${id}/rename${query}`, body)
const hosts = async (app: TestApp, id: string) =>
  (await app.ask<{ items: Domain[] }>('GET', `/projects/${id}/domains`)).body.items

test('a rename moves the addresses, keeps id, data, ports and folder, and starts again only what was told the address', async (t) => {
  const now = new Date()
  const app = await openTestApp(t, { now: () => now })
  const shop = await withShop(app, { redis: {} })
  const plan = await rename<PlanAnswer>(app, 'shop', { slug: 'store' }, '?dryRun=true')
  assert.equal(plan.status, 200, JSON.stringify(plan.body))
  assert.deepEqual(plan.body.plan.restarts, ['node'])
  assert.deepEqual(plan.body.plan.keepsRunning, ['redis'])
  assert.deepEqual(plan.body.plan.changes, [{ field: 'slug', before: 'shop', after: 'store' }])
  assert.equal((await app.ask('GET', '/projects/shop')).body.slug, 'shop')

  const renamed = await rename(app, 'shop', { slug: 'store' })
  assert.equal(renamed.status, 200, JSON.stringify(renamed.body))
  const { slug, url, id, path, operation } = renamed.body
  assert.deepEqual([slug, url, id, path], ['store', 'http://store.localhost', shop.id, shop.path])
  assert.equal(operation?.state, 'succeeded', JSON.stringify(operation?.error))
  assert.deepEqual(
    renamed.body.status.workloads.map(({ name, ports }) => [name, ports]),
    shop.status.workloads.map(({ name, ports }) => [name, ports]),
  )
  assert.equal((await app.ask('GET', '/projects/shop')).body.slug, 'store')
  const until = new Date(now.getTime() + 30 * dayMs).toISOString()
  assert.deepEqual(
    (await hosts(app, 'store')).map(({ host, automatic, redirectsUntil }) => [host, automatic, redirectsUntil]),
    [
      ['store.localhost', true, null],
      ['shop.localhost', false, until],
    ],
  )
  const { items } = (await app.ask<{ items: AuditEntry[] }>('GET', '/audit?action=project.rename')).body
  assert.deepEqual(items[0]?.changes, { before: { slug: 'shop' }, after: { slug: 'store', redirectsUntil: until } })

  const back = await rename(app, 'shop', { slug: 'shop' })
  assert.equal(back.body.slug, 'shop', JSON.stringify(back.body))
  assert.deepEqual(
    (await hosts(app, 'shop')).map(({ host }) => host),
    ['shop.localhost', 'store.localhost'],
  )
  const same = await rename(app, 'shop', { slug: 'shop' })
  assert.deepEqual([same.status, same.body.operation], [200, null])
})

test('a former slug is nobody else’s until it is removed or its time is over', async (t) => {
  let now = new Date()
  const app = await openTestApp(t, { now: () => now })
  await withShop(app, { start: false })
  assert.equal((await rename(app, 'shop', { slug: 'store' })).status, 200)
  const create = () => app.ask<ProblemAnswer>('POST', '/projects?wait=30', { name: 'Shop', start: false })
  const refused = await create()
  assert.equal(refused.status, 409)
  assert.match(refused.body.detail ?? '', /taken by the project "Shop", which was called so/)
  assert.match(refused.body.hint ?? '', /DELETE \/projects\/store\/domains/)
  assert.equal((await app.ask('DELETE', '/projects/store/domains/shop.localhost')).status, 204)
  assert.equal((await app.ask('GET', '/projects/shop')).status, 404)
  assert.equal((await create()).status, 201)

  assert.equal((await rename(app, 'store', { slug: 'market' })).status, 200)
  now = new Date(now.getTime() + 31 * dayMs)
  const later = await app.reopen({ now: () => now })
  const gone = async () => (await later.ask('GET', '/projects/store')).status === 404
  for (let tries = 0; !(await gone()) && tries < 100; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(
    (await hosts(later, 'market')).map(({ host }) => host),
    ['market.localhost'],
  )
})

test('a slug that is taken, kept for the service or no slug is refused, and nothing changes', async (t) => {
  const app = await openTestApp(t)
  await withShop(app, { start: false })
  assert.equal((await app.ask('POST', '/projects?wait=30', { name: 'Other', start: false })).status, 201)
  const refused = async (slug: string) => {
    const { status, body } = await rename<ProblemAnswer>(app, 'shop', { slug })
    return [status, body.code]
  }
  assert.deepEqual(await refused('other'), [409, 'conflict'])
  for (const slug of ['api', 'www', 'shop-dev']) assert.deepEqual(await refused(slug), [409, 'conflict'])
  for (const slug of ['', 'Shop', 'a b', '-a', 'a'.repeat(41), '../x', 'prj_1'])
    assert.deepEqual(await refused(slug), [422, 'validation_failed'])
  assert.deepEqual(
    (await hosts(app, 'shop')).map(({ host }) => host),
    ['shop.localhost'],
  )
  const restricted = await app.as('admin', [(await app.ask('GET', '/projects/shop')).body.id])
  assert.equal((await restricted('POST', '/projects/shop/rename', { slug: 'mine' })).status, 403)
})

test('two renames at once: one has the slug, the other is told who', async (t) => {
  const app = await openTestApp(t)
  await withShop(app, { start: false })
  assert.equal((await app.ask('POST', '/projects?wait=30', { name: 'Other', start: false })).status, 201)
  const answers = await Promise.all(['shop', 'other'].map((id) => rename<ProblemAnswer>(app, id, { slug: 'wanted' })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
})
