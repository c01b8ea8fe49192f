import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { serveAuthority } from './acme-support.ts'
import { openTestApp } from './app-support.ts'

/** The service, called by an administrator. */
async function opened(t: TestContext) {
  const app = await openTestApp(t)
  const headers = await app.session()
  return { ...app, call: (id: string, options: object = {}) => app.call(id, { headers, ...options }) }
}

/** Stands until the test ends. */
async function authority(t: TestContext, meta: object = {}) {
  const made = await serveAuthority(meta)
  t.after(() => made[Symbol.asyncDispose]())
  return made
}

const canaries = { token: 'dns-token-canary-77', hmacKey: 'hmac_canary_881' }

function input({ directory, roots }: { directory: string; roots: string }, change: object = {}) {
  return {
    ...{ directory, roots, email: 'ops@example.org', termsAgreed: true, challenge: 'dns-01' },
    names: ['shop.example.org'],
    dns: { provider: 'cloudflare', settings: { token: canaries.token, endpoint: 'http://127.0.0.1:9/client/v4' } },
    externalAccount: { keyId: 'kid-1', hmacKey: canaries.hmacKey },
    ...change,
  }
}

test('secrets of an authority and of a DNS provider go in and never come out', async (t) => {
  const there = await authority(t)
  const app = await opened(t)
  const put = await app.call('putAcme', { body: input(there) })
  assert.equal(put.status, 200, put.body)
  assert.deepEqual(put.json.settings.dns.settings, { endpoint: 'http://127.0.0.1:9/client/v4', hasToken: true })
  assert.deepEqual(put.json.settings.externalAccount, { keyId: 'kid-1' })
  const [order] = put.json.orders
  assert.equal(order.name, 'shop.example.org')
  // Until the first attempt, which this authority refuses, has ended.
  const failed = await until(async () => {
    const { json } = await app.call('getAcme')
    return json.orders[0].state === 'failing' ? json.orders[0] : null
  })
  assert.equal(failed.failure.code, 'account_refused')
  assert.match(failed.failure.detail, /not you/)
  const audit = await app.call('listAudit', { query: { limit: '100' } })
  assert.ok(audit.json.items.some(({ action }: { action: string }) => action === 'acme.put'))
  const read = await app.call('getAcme')
  const database = await readFile(join(app.home, 'stackquay.db'))
  const log = await readFile(join(app.home, 'stackquay.db-wal')).catch(() => Buffer.alloc(0))
  for (const canary of Object.values(canaries)) {
    for (const text of [put.body, read.body, audit.body, app.log()]) assert.ok(!text.includes(canary), canary)
    for (const file of [database, log]) assert.ok(!file.includes(canary), canary)
  }
  for (const text of [put.body, read.body, audit.body]) assert.ok(!text.includes('PRIVATE KEY'))
})

test('secrets that are left out stay; where they would go elsewhere, they are needed again', async (t) => {
  const there = await authority(t)
  const app = await opened(t)
  assert.equal((await app.call('putAcme', { body: input(there) })).status, 200)
  const endpoint = 'http://127.0.0.1:9/client/v4'
  const without = { dns: { provider: 'cloudflare', settings: { endpoint } }, externalAccount: { keyId: 'kid-1' } }
  const again = await app.call('putAcme', { body: input(there, { ...without, email: 'other@example.org' }) })
  assert.equal(again.status, 200, again.body)
  const moved = await app.call('putAcme', {
    body: input(there, { dns: { provider: 'cloudflare', settings: { endpoint: 'http://127.0.0.1:9/elsewhere' } } }),
  })
  assert.equal(moved.status, 422)
  assert.deepEqual(
    moved.json.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code]),
    [['/dns/settings/token', 'needed_again']],
  )
  const other = await app.call('putAcme', { body: input(there, { externalAccount: { keyId: 'kid-2' } }) })
  assert.equal(other.json.errors[0].pointer, '/externalAccount/hmacKey')
  assert.equal((await app.call('getAcme')).json.settings.email, 'other@example.org')
})

test('what cannot work is refused with the field, the reason and what to do; the authority is asked for nothing', async (t) => {
  const there = await authority(t)
  const app = await opened(t)
  const refused = async (change: object) => {
    const { status, json } = await app.call('putAcme', { body: input(there, change) })
    assert.equal(status, 422, JSON.stringify(json))
    return [json.errors[0].pointer, json.errors[0].code]
  }
  assert.deepEqual(await refused({ challenge: 'http-01', dns: null }), ['/challenge', 'port_80_elsewhere'])
  assert.deepEqual(await refused({ challenge: 'tls-alpn-01', dns: null }), ['/challenge', 'port_443_elsewhere'])
  assert.deepEqual(await refused({ dns: null }), ['/dns', 'needed'])
  assert.deepEqual(await refused({ dns: { provider: 'godaddy', settings: {} } }), ['/dns/provider', 'unknown_provider'])
  assert.deepEqual(await refused({ directory: 'letsencript' }), ['/directory', 'unknown_authority'])
  assert.deepEqual(await refused({ directory: 'http://acme.example.org/dir' }), ['/directory', 'unknown_authority'])
  assert.deepEqual(await refused({ directory: 'https://169.254.169.254/dir' }), ['/directory', 'not_allowed'])
  assert.deepEqual(await refused({ roots: 'nonsense' }), ['/roots', 'not_pem'])
  assert.deepEqual(await refused({ roots: null, names: ['nas.local'] }), ['/names/0', 'not_public'])
  assert.deepEqual(await refused({ roots: null, names: null, wildcard: true }), ['/wildcard', 'not_public'])
  const metadata = {
    provider: 'webhook',
    settings: { url: 'http://169.254.169.254/x', secret: `whsec_${'A'.repeat(32)}` },
  }
  assert.deepEqual(await refused({ dns: metadata }), ['/dns/settings/url', 'not_allowed'])
  assert.deepEqual(there.asked, [])
  assert.deepEqual(await refused({ directory: 'https://localhost:1/dir' }), ['/directory', 'server_unreachable'])
  const bound = await authority(t, { externalAccountRequired: true })
  const { status, json } = await app.call('putAcme', { body: input(bound, { externalAccount: null }) })
  assert.deepEqual([status, json.errors[0].pointer], [422, '/externalAccount'])
  const { status: terms } = await app.call('putAcme', { body: input(there, { termsAgreed: false }) })
  assert.equal(terms, 422)
  assert.equal((await app.call('getAcme')).json.settings, null)
  assert.equal((await app.call('renewAcme', { body: {} })).status, 409)
})

async function until<T>(ask: () => Promise<T | null>): Promise<T> {
  const deadline = performance.now() + 20_000
  for (;;) {
    const found = await ask()
    if (found !== null) return found
    if (performance.now() > deadline) assert.fail('it did not come to that')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
