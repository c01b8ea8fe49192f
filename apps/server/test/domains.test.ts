import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Domain, Problem } from '@stackquay/contract'
import { openTestApp, type TestApp } from './projects-support.ts'

type Listed = { items: Domain[] }

async function project(app: TestApp, name = 'Shop', more: object = {}): Promise<string> {
  const made = await app.ask('POST', '/projects?wait=30', { name, node: {}, start: false, ...more })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body.id
}

const add = (app: TestApp, slug: string, body: object) =>
  app.ask<Domain & Problem>('POST', `/projects/${slug}/domains`, body)

test('a project has the names that come with it, and those that are added, until they are removed', async (t) => {
  const app = await openTestApp(t)
  await project(app)
  const before = await app.ask<Listed>('GET', '/projects/shop/domains')
  assert.deepEqual(before.body.items, [
    {
      host: 'shop.localhost',
      display: 'shop.localhost',
      automatic: true,
      redirectsUntil: null,
      workload: null,
      url: 'http://shop.localhost',
      createdAt: null,
    },
  ])

  const made = await add(app, 'shop', { host: 'Shop.Example.org.', workload: 'node' })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { createdAt, ...rest } = made.body
  assert.ok(Date.parse(createdAt!) > 0)
  assert.deepEqual(rest, {
    host: 'shop.example.org',
    display: 'shop.example.org',
    automatic: false,
    redirectsUntil: null,
    workload: 'node',
    url: 'http://shop.example.org',
  })
  const { items } = (await app.ask<Listed>('GET', '/projects/shop/domains')).body
  assert.deepEqual(items.at(-1), made.body)

  assert.equal((await app.ask('DELETE', '/projects/shop/domains/shop.example.org')).status, 204)
  assert.equal((await app.ask<Listed>('GET', '/projects/shop/domains')).body.items.length, 1)
  const gone = await app.ask<Problem>('DELETE', '/projects/shop/domains/shop.example.org')
  assert.equal(gone.status, 404)
  assert.match(gone.body.detail ?? '', /no extra name "shop\.example\.org"/)
})

test('names of other alphabets are kept as they are looked up and shown as people read them; so are wildcards', async (t) => {
  const app = await openTestApp(t)
  await project(app)
  const books = await add(app, 'shop', { host: 'BÜCHER.example' })
  assert.equal(books.body.host, 'xn--bcher-kva.example')
  assert.equal(books.body.display, 'bücher.example')
  const all = await add(app, 'shop', { host: '*.例え.example' })
  assert.equal(all.body.host, '*.xn--r8jz45g.example')
  assert.equal(all.body.display, '*.例え.example')
  const same = await add(app, 'shop', { host: 'xn--bcher-kva.example' })
  assert.equal(same.status, 409, 'one spelling is the other')
  const removed = await app.ask('DELETE', `/projects/shop/domains/${encodeURIComponent('bücher.example')}`)
  assert.equal(removed.status, 204)
  assert.equal((await app.ask('DELETE', `/projects/shop/domains/${encodeURIComponent('*.例え.example')}`)).status, 204)
})

test('a name belongs to one project, also when twenty ask for it at once', async (t) => {
  const app = await openTestApp(t)
  const ids = [await project(app, 'One'), await project(app, 'Two'), await project(app, 'Three')]
  const answers = await Promise.all(
    Array.from({ length: 21 }, (_, index) => add(app, ids[index % 3]!, { host: 'wanted.example.org' })),
  )
  assert.equal(answers.filter(({ status }) => status === 201).length, 1)
  assert.ok(answers.every(({ status }) => status === 201 || status === 409))
  const rows = await app.store.network.allDomains()
  assert.equal(rows.length, 1)
  const loser = ids.find((id) => id !== rows[0]!.project)!
  const refused = await add(app, loser, { host: 'wanted.example.org' })
  assert.equal(refused.body.code, 'conflict')
  // Whoever asks may not be allowed to know the other project.
  assert.equal(refused.body.detail, 'The name "wanted.example.org" belongs to another project.')
  const again = await add(app, rows[0]!.project, { host: 'wanted.example.org' })
  assert.equal(again.body.detail, 'The project has the name "wanted.example.org" already.')
  const stolen = await app.ask('DELETE', `/projects/${loser}/domains/wanted.example.org`)
  assert.equal(stolen.status, 404, 'nobody removes the name of another project')
})

test('a name that was removed, or whose project was deleted, is anybody’s', async (t) => {
  const app = await openTestApp(t)
  await project(app, 'One')
  await project(app, 'Two')
  assert.equal((await add(app, 'one', { host: 'a.example.org' })).status, 201)
  assert.equal((await app.ask('DELETE', '/projects/one/domains/a.example.org')).status, 204)
  assert.equal((await add(app, 'two', { host: 'a.example.org' })).status, 201)
  assert.equal((await app.ask('DELETE', '/projects/two?confirm=two&data=delete&wait=30')).status, 200)
  assert.equal((await add(app, 'one', { host: 'a.example.org' })).status, 201)
})

test('names of other projects, of the instance and of shares are refused, and names below its own are the project’s', async (t) => {
  const app = await openTestApp(t)
  await project(app)
  for (const host of ['other.localhost', 'localhost', 'x.share.localhost', 'shop.localhost', '*.other.localhost']) {
    const refused = await add(app, 'shop', { host })
    assert.equal(refused.status, 422, host)
    assert.equal(refused.body.errors?.[0]?.pointer, '/host')
    assert.equal(refused.body.errors?.[0]?.code, 'not_yours')
  }
  assert.equal((await add(app, 'shop', { host: '*.localhost' })).status, 422)
  for (const host of ['api.shop.localhost', '*.shop.localhost'])
    assert.equal((await add(app, 'shop', { host })).status, 201, host)
})

test('what is no host name is refused with a sentence about why', async (t) => {
  const app = await openTestApp(t)
  await project(app)
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['http://a.example.org', /scheme, port and path/],
    ['a.example.org:80', /scheme, port and path/],
    ['127.0.0.1', /an address, not a name/],
    ['a.*.example.org', /may only stand alone in front/],
    ['*.org', /at least two parts/],
    ['a..example.org', /no host name/],
    [`${'a'.repeat(64)}.example.org`, /63|no host name/],
  ]
  for (const [host, why] of wrong) {
    const refused = await add(app, 'shop', { host })
    assert.equal(refused.status, 422, host)
    assert.match(refused.body.detail ?? '', why, host)
  }
  const nowhere = await add(app, 'shop', { host: 'a.example.org', workload: 'redis' })
  assert.equal(nowhere.status, 422)
  assert.equal(nowhere.body.detail, 'The project has no workload "redis" with a page. There is node.')
  assert.equal((await add(app, 'nobody', { host: 'a.example.org' })).status, 404)
  assert.deepEqual(await app.store.network.allDomains(), [])
})

test('reading suffices for none of it, operating for all of it, and each change is recorded', async (t) => {
  const app = await openTestApp(t)
  const id = await project(app)
  const reader = await app.as('read')
  assert.equal((await reader('POST', '/projects/shop/domains', { host: 'a.example.org' })).status, 403)
  assert.equal((await reader('GET', '/projects/shop/domains')).status, 200)
  const operator = await app.as('operate')
  assert.equal((await operator('POST', '/projects/shop/domains', { host: 'a.example.org' })).status, 201)
  assert.equal((await operator('DELETE', '/projects/shop/domains/a.example.org')).status, 204)
  const elsewhere = await app.as('operate', [await project(app, 'Other')])
  assert.ok([403, 404].includes((await elsewhere('POST', '/projects/shop/domains', { host: 'b.example.org' })).status))

  const entries = await app.store.audit.list({ limit: 50, project: id })
  const ours = entries.filter(({ action, outcome }) => action.startsWith('domain.') && outcome === 'success')
  assert.deepEqual(
    ours.map(({ action, changes }) => [action, changes]),
    [
      ['domain.remove', { before: { host: 'a.example.org', workload: null } }],
      ['domain.add', { after: { host: 'a.example.org', workload: null } }],
    ],
  )
})

test('names are there after a restart', async (t) => {
  const app = await openTestApp(t)
  await project(app)
  await add(app, 'shop', { host: 'a.example.org' })
  const again = await app.reopen()
  const { items } = (await again.ask<Listed>('GET', '/projects/shop/domains')).body
  assert.deepEqual(
    items.map(({ host }) => host),
    ['shop.localhost', 'a.example.org'],
  )
})
