import assert from 'node:assert/strict'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { test } from 'node:test'
import { ProxyRulesPut } from '@stackquay/contract/schemas/network'
import { checkRules, readHostName } from '@stackquay/domain'
import { createGate } from '@stackquay/proxy/gate/gate'
import type { Visit } from '@stackquay/proxy/gate/rule'
import { indexRoutes } from '@stackquay/proxy/route-index'
import { parseRouteTable } from '@stackquay/proxy/route-table'
import { routeRules } from '../src/network/route-rules.ts'

// A table with one entry that the proxy does not take is refused as a whole: then nobody's changes reach it any more.

test('whatever rules are accepted, the proxy takes them, and what it says with them are headers', () => {
  const { any, some, chance } = random(6)
  let accepted = 0
  for (let turn = 0; turn < 4_000; turn += 1) {
    const parsed = ProxyRulesPut.safeParse({
      allowIps: some(addresses),
      redirects: some(paths).map((from) => ({ from, to: any(targets), host: chance(0.7) ? null : any(hosts) })),
      requestHeaders: some(names).map((name) => ({ name, value: chance(0.2) ? null : any(values) })),
      responseHeaders: some(names).map((name) => ({ name, value: chance(0.2) ? null : any(values) })),
      cors: chance(0.5) ? null : { origins: [any(origins)], headers: some(names), exposeHeaders: some(names) },
    })
    if (!parsed.success) continue
    const checked = checkRules(parsed.data, ['shop.localhost'])
    if (!checked.ok) continue
    accepted += 1
    const rules = routeRules({ ...checked.rules, basicAuth: null })
    const [route] = tableOf(['shop.localhost'], rules).routes
    const gate = createGate(route!)
    for (const path of ['/a', '/a/b', '/old', '/', '//evil.example/x', '/\\evil.example', '/b%C3%BCro/x?y=1']) {
      for (const method of ['GET', 'OPTIONS']) {
        const decision = gate?.check(visit(method, path))
        if (decision === undefined || decision instanceof Promise) continue
        const sent = decision.pass
          ? [decision.request, decision.response].flatMap((changes) => [
              ...(changes?.names ?? []).map((name) => [name, ''] as const),
              ...pairs(changes?.pairs ?? []),
            ])
          : decision.answer.headers
        for (const [name, value] of sent) {
          validateHeaderName(name)
          validateHeaderValue(name, value)
          if (name === 'location') assert.match(value, /^(\/(?![/\\])|https?:\/\/(xn--e1afmkfd\.)?example\.org)/, value)
        }
      }
    }
  }
  assert.ok(accepted > 300, `${accepted} were accepted`)
})

test('whatever host name is accepted, the proxy takes it and finds it', () => {
  for (const text of hosts) {
    const read = readHostName(text)
    if (!read.ok) continue
    const asked = read.host.replace('*', 'any')
    assert.ok(indexRoutes(tableOf([read.host])).routeOf(asked), text)
  }
})

const addresses = [
  '10.0.0.0/8',
  '::1',
  '::/0',
  '0.0.0.0/0',
  '::ffff:10.0.0.0/104',
  '2001:db8::/32',
  '10.0.0.0/',
  '::1.2.3.4',
]
const paths = ['/old', '/a/*', '/*', '/büro/*', '/日本', '/a b', '//x/*', '/\ud800', '/%2f*', '/a\u00a0b']
const targets = [
  '/new',
  '/x/*',
  '/büro/*',
  'https://example.org/*',
  'https:/*',
  'https:///*',
  'https:\\\\*',
  'https://пример.example.org/*',
  'http://example.org/ä?q=*',
  'https://example.org*',
  '/ \u0085',
  '/\u2028*',
  '/\ud800*',
]
const hosts = [
  'shop.localhost',
  '_dmarc.example.org',
  'a.b_',
  'a__b.example',
  '*.Example.org.',
  '*._x.example.org',
  'bücher.example',
  'a',
  'ß.example',
  'x'.repeat(63),
  `${'a.'.repeat(126)}b`,
  '1a.example',
  '::1',
  '127.1',
]
const names = [
  'X-A',
  'x-b',
  'Vary',
  'Set-Cookie',
  'Access-Control-Allow-Origin',
  'Connection',
  'x y',
  'X_Forwarded_For',
  "!#$%&'*+",
]
const values = ['', ' a ', '\t', 'ÿ', 'a\r\nb', '\u0100', 'a\u007f', 'plain']
const origins = ['*', 'https://app.example', 'https://bücher.example', 'null', 'https://APP.example:8443/', 'app://x']

function tableOf(hostNames: readonly string[], rules?: ReturnType<typeof routeRules>) {
  const project = { id: 'prj_1', slug: 'shop', name: 'Shop' }
  const target = { kind: 'page', page: 'stopped' }
  const table = { version: 1, generation: 1, routes: [{ hosts: hostNames, project, target, rules }] }
  return parseRouteTable(JSON.parse(JSON.stringify(table)))
}

function visit(method: string, path: string): Visit {
  return {
    client: '10.1.2.3',
    host: 'shop.localhost',
    path,
    method,
    headers: { origin: 'https://app.example', 'access-control-request-method': 'PUT' },
    proto: 'http',
    form: async () => null,
    isUpgrade: false,
    redeem: async () => null,
    now: 0,
  }
}

/** The same at every run. */
function random(seed: number) {
  let state = seed
  const next = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  const any = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!
  return {
    any,
    chance: (share: number) => next() < share,
    some: <T>(all: readonly T[]): readonly T[] => Array.from({ length: Math.floor(next() * 3) }, () => any(all)),
  }
}

function pairs(flat: readonly string[]): (readonly [string, string])[] {
  return flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1]!] as const] : []))
}
