import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations, type ProxyRules } from '@stackquay/contract'
import { bodyOf, emptyCors, emptyMaintenance, formStateOf, moved, stepsOn } from '../src/lib/rules-form.ts'

const rules: ProxyRules = {
  signIn: false,
  allowIps: ['192.0.2.0/24', '2001:db8::1'],
  basicAuth: { username: 'guest' },
  redirects: [
    { from: '/old/*', to: '/new/*', host: null, status: 308 },
    { from: '/blog', to: 'https://blog.example.org/', host: 'shop.example.org', status: 302 },
  ],
  requestHeaders: [{ name: 'X-From', value: 'quay' }],
  responseHeaders: [{ name: 'Server', value: null }],
  cors: {
    origins: ['https://app.example.org'],
    methods: ['GET', 'POST'],
    headers: [],
    exposeHeaders: ['X-Total'],
    credentials: true,
    maxAgeSeconds: 60,
  },
}
const none: ProxyRules = {
  signIn: false,
  allowIps: [],
  basicAuth: null,
  redirects: [],
  requestHeaders: [],
  responseHeaders: [],
  cors: null,
}

test('a form that nobody touched sends back what was read, and no password', () => {
  assert.deepEqual(bodyOf(formStateOf(rules)), rules)
  assert.deepEqual(bodyOf(formStateOf(none)), none)
  assert.equal(operations.putProxyRules.body.safeParse(bodyOf(formStateOf(rules))).success, true)
})

test('blank lines and blanks around are left out; a typed password is sent', () => {
  const body = bodyOf({
    ...formStateOf(none),
    allowIps: '\n 192.0.2.7 \r\n\n2001:db8::/32',
    basicAuth: { username: 'guest', password: ' let me in ' },
    cors: { ...emptyCors, origins: '*\n', methods: 'get,  post', headers: 'X-One X-Two' },
  })
  assert.deepEqual(body.allowIps, ['192.0.2.7', '2001:db8::/32'])
  assert.deepEqual(body.basicAuth, { username: 'guest', password: ' let me in ' })
  assert.deepEqual(
    [body.cors?.origins, body.cors?.methods, body.cors?.headers],
    [['*'], ['GET', 'POST'], ['X-One', 'X-Two']],
  )
})

test('rows keep their place, so that a pointer of an answer names the row it is about', () => {
  const form = formStateOf(rules)
  const empty = { key: 'new', from: '', to: '', status: 308, host: '' } as const
  assert.deepEqual(
    bodyOf({ ...form, redirects: [empty, ...form.redirects] }).redirects?.map(({ from }) => from),
    ['', '/old/*', '/blog'],
  )
})

test('an entry moves by one place and not over the ends', () => {
  assert.deepEqual(moved(['a', 'b', 'c'], 2, -1), ['a', 'c', 'b'])
  assert.deepEqual(moved(['a', 'b', 'c'], 0, 1), ['b', 'a', 'c'])
  assert.deepEqual(moved(['a', 'b'], 0, -1), ['a', 'b'])
  assert.deepEqual(moved(['a', 'b'], 1, 1), ['a', 'b'])
})

test('the steps in use are those that the rules switch on', () => {
  assert.deepEqual(stepsOn(formStateOf(none)), [])
  assert.deepEqual(stepsOn(formStateOf(rules)), ['addresses', 'preflight', 'password', 'redirects'])
})

test('maintenance goes to the form and back, and what is empty is left out', () => {
  const maintenance = { enabled: true, retryAfterSeconds: 90, allowIps: ['10.0.0.0/8'], message: 'Soon.', page: false }
  assert.deepEqual(bodyOf(formStateOf({ ...none, maintenance })).maintenance, maintenance)
  assert.deepEqual(bodyOf({ ...formStateOf(none), maintenance: { ...emptyMaintenance, enabled: true } }).maintenance, {
    enabled: true,
  })
  assert.ok(stepsOn(formStateOf({ ...none, maintenance })).includes('maintenance'))
  assert.ok(!stepsOn(formStateOf({ ...none, maintenance: { enabled: false } })).includes('maintenance'))
})
