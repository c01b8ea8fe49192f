import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseRouteChanges, type RouteChanges, StaleRoutesError, withChanges } from '../src/route-changes.ts'
import { readRouteFile } from '../src/route-file.ts'
import { indexRoutes } from '../src/route-index.ts'
import { type Route, RouteTableError } from '../src/route-table.ts'
import { ask, httpUpstream, proxyTo, route, table, upstreamAt } from './support.ts'

const [shop, blog, wiki] = ['shop', 'blog', 'wiki'].map((slug, at) => route(slug, upstreamAt(3000 + at)))
assert.ok(shop && blog && wiki)

const changes = (since: number, ...projects: readonly (readonly [string, ...Route[]])[]): RouteChanges => ({
  version: 1,
  since,
  generation: since + 1,
  projects: projects.map(([project, ...routes]) => ({ project, routes })),
})

test('routes of a project are put in, replaced and taken away; those of others stay as they are', () => {
  const moved = route('shop', upstreamAt(4000))
  const before = table([shop, blog])
  const after = withChanges(before, changes(1, ['prj_shop', moved], ['prj_blog'], ['prj_wiki', wiki]))
  assert.deepEqual(after, table([moved, wiki], 2))
  assert.deepEqual(before, table([shop, blog]))
})

test('the index of a route is kept while the route stays, with the memory of its rules', () => {
  const first = indexRoutes(table([shop, blog]))
  const second = indexRoutes(withChanges(first.table, changes(1, ['prj_blog', route('blog', upstreamAt(4000))])), first)
  assert.equal(second.routeOf('shop.localhost'), first.routeOf('shop.localhost'))
  assert.notEqual(second.routeOf('blog.localhost'), first.routeOf('blog.localhost'))
})

test('changes of another table are refused, and such that give a name to two', () => {
  assert.throws(() => withChanges(table([shop], 5), changes(4, ['prj_shop'])), StaleRoutesError)
  const thief = { ...blog, hosts: shop.hosts }
  assert.throws(() => withChanges(table([shop]), changes(1, ['prj_blog', thief])), RouteTableError)
  assert.deepEqual(
    withChanges(table([shop]), changes(1, ['prj_blog', thief], ['prj_shop'])).routes,
    [thief],
    'a name may go from one to another',
  )
})

test('changes are checked as strictly as a table', () => {
  const good = changes(1, ['prj_shop', shop])
  assert.deepEqual(parseRouteChanges(JSON.parse(JSON.stringify(good))), good)
  for (const [wrong, message] of [
    [{ ...good, version: 2 }, /^changes\.version must be 1, not 2$/],
    [{ ...good, generation: 1 }, /^changes\.generation must be a whole number above "since"$/],
    [{ ...good, since: -1 }, /^changes\.since/],
    [{ ...good, trustedProxies: [] }, /^changes\.trustedProxies is not known/],
    [changes(1, ['prj_shop'], ['prj_shop']), /^projects must name each project once$/],
    [changes(1, ['prj_shop', blog]), /^projects\[0\]\.routes\[0\]\.project\.id must be prj_shop$/],
    [changes(1, ['prj_shop', { ...shop, tls: {} } as never]), /routes\[0\]\.tls is not known to this proxy$/],
  ] as const)
    assert.throws(() => parseRouteChanges(wrong), { name: 'RouteTableError', message })
})

test('a running proxy takes changes, in all its processes and on disk, and says when it has another table', async (t) => {
  const [one, two] = await Promise.all([
    httpUpstream(t, (_request, response) => response.end('one')),
    httpUpstream(t, (_request, response) => response.end('two')),
  ])
  const { port, control, home } = await proxyTo(t, upstreamAt(one))
  assert.equal((await ask(port)).text, 'one')
  const status = await control.changeRoutes(changes(1, ['prj_shop', route('shop', upstreamAt(two))]))
  assert.equal(status.routesGeneration, 2)
  assert.equal((await ask(port)).text, 'two')
  assert.equal((await readRouteFile(join(home, 'routes.json'))).generation, 2)
  await assert.rejects(control.changeRoutes(changes(1, ['prj_shop'])), { code: 'routes_stale' })
  await assert.rejects(control.changeRoutes(changes(2, ['prj_other', shop])), { code: 'routes_invalid' })
  assert.equal((await ask(port)).text, 'two')
})
