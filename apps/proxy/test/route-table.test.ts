import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostName } from '../src/route-index.ts'
import { pageNames, parseRouteTable, RouteTableError } from '../src/route-table.ts'
import { route, table, upstreamAt } from './support.ts'

test('a table comes out as it went in, through JSON', () => {
  const value = table([
    route('shop', upstreamAt(3000)),
    route('blog', {
      kind: 'page',
      page: 'failed',
      title: 'Broken',
      detail: 'Why',
      logTail: ['a', 'b'],
      dashboardUrl: 'http://127.0.0.1:8700/projects/blog',
    }),
  ])
  assert.deepEqual(parseRouteTable(JSON.parse(JSON.stringify(value))), value)
})

test('the names of pages are what the control plane and the stored tables know', () => {
  assert.deepEqual(pageNames, ['stopped', 'starting', 'sleeping', 'failed', 'waiting', 'creating'])
})

const shop = route('shop', upstreamAt(3000))
const page = { kind: 'page', page: 'stopped' }
const mistakes: readonly [string, unknown, RegExp][] = [
  ['no object', [], /^table must be an object$/],
  ['another version', { ...table([]), version: 2 }, /^table\.version must be 1, not 2$/],
  ['a broken generation', { ...table([]), generation: -1 }, /^table\.generation must be a whole number/],
  ['routes that are no list', { ...table([]), routes: {} }, /^routes must be a list$/],
  ['an unknown field', { ...table([]), tls: {} }, /^table\.tls is not known to this proxy$/],
  [
    'a rule that this proxy would not apply',
    table([{ ...shop, tls: {} } as never]),
    /^routes\[0\]\.tls is not known to this proxy$/,
  ],
  [
    'a host with capital letters',
    table([{ ...shop, hosts: ['Shop.localhost'] }]),
    /^routes\[0\]\.hosts\[0\] must be a host name/,
  ],
  ['a host with a port', table([{ ...shop, hosts: ['shop.localhost:80'] }]), /hosts\[0\] must be a host name/],
  [
    'one host in two routes',
    table([shop, { ...route('two', upstreamAt(1)), hosts: shop.hosts }]),
    /shop\.localhost belongs to both shop and two/,
  ],
  ['a port out of range', table([route('shop', upstreamAt(70_000))]), /^routes\[0\]\.target\.port must be a port/],
  [
    'an upstream that is no address',
    table([route('a', { kind: 'upstream', host: 'a b', port: 1 })]),
    /target\.host must be/,
  ],
  [
    'an unknown target',
    table([route('a', { kind: 'file' } as never)]),
    /^routes\[0\]\.target\.kind must be "upstream" or "page"$/,
  ],
  [
    'an unknown page',
    table([route('a', { kind: 'page', page: 'gone' } as never)]),
    /target\.page must be one of stopped/,
  ],
  [
    'log lines that are no text',
    table([route('a', { ...page, logTail: [1] } as never)]),
    /target\.logTail\[0\] must be a text/,
  ],
  [
    'a link that is a script',
    table([route('a', { ...page, dashboardUrl: 'javascript:alert(1)' } as never)]),
    /target\.dashboardUrl must be an http or https address/,
  ],
]

for (const [what, value, message] of mistakes) {
  test(`a table with ${what} is refused, and the mistake is named`, () => {
    assert.throws(
      () => parseRouteTable(value),
      (error) => error instanceof RouteTableError && message.test(error.message),
    )
  })
}

test('host names are compared without case, port and trailing dot', () => {
  for (const authority of [
    'shop.localhost',
    'SHOP.Localhost',
    'shop.localhost:8780',
    'shop.localhost.',
    'Shop.localhost.:80',
  ]) {
    assert.equal(hostName(authority), 'shop.localhost')
  }
  assert.equal(hostName('[::1]:8780'), '[::1]')
})

test('what is no host name is not guessed at', () => {
  for (const authority of [
    '',
    ' ',
    'a b',
    'user@shop.localhost',
    'shop.localhost:80/..',
    'shop.localhost:x',
    '.',
    'a..b',
    'a,b',
  ]) {
    assert.equal(hostName(authority), undefined, JSON.stringify(authority))
  }
})
