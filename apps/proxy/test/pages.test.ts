import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '@stackquay/testkit/free-port'
import { prefersJson } from '../src/answer.ts'
import type { PageName, Target } from '../src/route-table.ts'
import { ask, httpUpstream, proxyTo, route, table, upstreamAt } from './support.ts'

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8' }
const program = { accept: 'application/json' }

const expected: readonly [PageName, RegExp, boolean][] = [
  ['stopped', /The shop is stopped/, false],
  ['starting', /The shop is starting/, true],
  ['waiting', /The shop is waiting/, true],
  ['creating', /The shop is being set up/, true],
  ['failed', /The shop did not start/, false],
]

for (const [page, title, refreshes] of expected) {
  test(`a ${page} project answers 503 with a page for people and a problem for programs`, async (t) => {
    const { port } = await proxyTo(t, { kind: 'page', page, detail: 'Because of this.' })
    const html = await ask(port, { headers: browser })
    assert.equal(html.status, 503)
    assert.equal(html.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(html.headers['cache-control'], 'no-store')
    assert.equal(
      `${html.headers['content-security-policy']}`.startsWith("default-src 'none'; style-src 'unsafe-inline'"),
      true,
    )
    assert.ok(Number(html.headers['retry-after']) >= 1)
    assert.match(html.text, title)
    assert.match(html.text, /Because of this\./)
    assert.equal(html.text.includes('http-equiv="refresh"'), refreshes)

    const json = await ask(port, { headers: program })
    assert.equal(json.status, 503)
    assert.equal(json.headers['content-type'], 'application/problem+json')
    const problem = JSON.parse(json.text)
    assert.equal(problem.code, `project_${page}`)
    assert.equal(problem.status, 503)
    assert.equal(problem.detail, 'Because of this.')
    assert.equal(problem.retryable, true)
    assert.deepEqual(problem.project, { id: 'prj_shop', slug: 'shop' })
  })
}

test('the page of a starting project turns into the project', async (t) => {
  const upstream = await httpUpstream(t, (_request, response) => response.end('here I am'))
  const { port, control } = await proxyTo(t, { kind: 'page', page: 'starting' })
  assert.equal((await ask(port, { headers: browser })).status, 503)
  await control.putRoutes(table([route('shop', upstreamAt(upstream))], 2))
  assert.equal((await ask(port, { headers: browser })).text, 'here I am')
})

test('nothing in a name, a reason or a log line becomes markup', async (t) => {
  const evil = `<script>alert("1")</script>'&`
  const target: Target = {
    kind: 'page',
    page: 'failed',
    detail: evil,
    logTail: [evil, '\x1b[31mred\x1b[0m \x00text', '</pre>'],
  }
  const { port, control } = await proxyTo(t, target)
  await control.putRoutes({
    version: 1,
    generation: 2,
    routes: [{ hosts: ['shop.localhost'], project: { id: 'p', slug: evil, name: evil }, target }],
  })
  const { text } = await ask(port, { headers: browser })
  assert.equal(text.includes('<script'), false)
  assert.equal(text.match(/<\/pre>/g)?.length, 1)
  assert.equal(text.split('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;').length, 5 + 1)
  assert.match(text, /\nred text\n/)
})

test('a failed project shows its last lines and the way to the dashboard', async (t) => {
  const { port } = await proxyTo(t, {
    kind: 'page',
    page: 'failed',
    logTail: ['Error: Cannot find module', '    at main.js:1'],
    dashboardUrl: 'http://127.0.0.1:8700/projects/shop?a=1&b=2',
  })
  const { text } = await ask(port, { headers: browser })
  assert.match(text, /<pre tabindex="0"><code>Error: Cannot find module\n {4}at main\.js:1<\/code><\/pre>/)
  assert.match(text, /<a href="http:\/\/127\.0\.0\.1:8700\/projects\/shop\?a=1&amp;b=2">/)
})

test('an unknown host gets 404 and learns nothing about what else is here', async (t) => {
  const { port } = await proxyTo(t, { kind: 'page', page: 'stopped' })
  const html = await ask(port, { host: 'nobody.localhost', headers: browser })
  assert.equal(html.status, 404)
  assert.equal(html.text.includes('shop'), false)
  const json = await ask(port, { host: 'nobody.localhost', headers: program })
  assert.equal(json.status, 404)
  assert.equal(JSON.parse(json.text).code, 'unknown_host')
})

test('a project on which nothing listens gets 502 with what to do', async (t) => {
  const closed = await freePort()
  const { port } = await proxyTo(t, upstreamAt(closed))
  const html = await ask(port, { headers: browser })
  assert.equal(html.status, 502)
  assert.match(html.text, /The shop is not answering/)
  assert.match(html.text, new RegExp(`nothing accepts connections on port ${closed}`))
  const json = await ask(port, { method: 'POST', body: 'x', headers: program })
  assert.equal(json.status, 502)
  assert.equal(JSON.parse(json.text).code, 'upstream_unreachable')
})

test('an upload to a stopped project is answered without taking it', async (t) => {
  const { port } = await proxyTo(t, { kind: 'page', page: 'stopped' })
  const answer = await ask(port, { method: 'POST', body: Buffer.alloc(2 * 1024 * 1024), headers: program })
  assert.equal(answer.status, 503)
})

test('programs and browsers are distinguished by what they ask for', () => {
  for (const accept of [
    'application/json',
    'application/problem+json, */*',
    'application/json, text/html;q=0.5',
    'application/vnd.api+json',
  ]) {
    assert.equal(prefersJson(accept), true, accept)
  }
  for (const accept of [undefined, '', '*/*', browser.accept, 'text/html, application/json', 'application/json;q=0']) {
    assert.equal(prefersJson(accept), false, `${accept}`)
  }
})
