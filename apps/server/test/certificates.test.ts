import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Tls, TlsCertificate } from '@stackquay/contract'
import type { ProxyCertificates } from '@stackquay/proxy/certificates'
import { openStore } from '@stackquay/store'
import { openCertificateKeeper } from '../src/certificates/keeper.ts'
import { createKnownCertificates } from '../src/certificates/known.ts'
import { readConfig } from '../src/config.ts'
import { projectHosts } from '../src/projects/project-hosts.ts'
import { openTestApp } from './app-support.ts'
import { day, makePair } from './certificates-support.ts'

interface World {
  readonly slugs?: string[]
  readonly env?: Record<string, string>
}

/** The keeper over a real store, with projects and a proxy that only remembers what it was told. */
async function world(t: TestContext, { slugs = ['shop'], env = {} }: World = {}) {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-certificates-'))
  const clock = { now: new Date() }
  const now = () => clock.now
  const store = await openStore({
    file: join(home, 'stackquay.db'),
    sealingKey: { id: 'a', key: Buffer.alloc(32, 1) },
    clock: { now },
  } as Parameters<typeof openStore>[0])
  const config = {
    ...readConfig({
      STACKQUAY_HOME: home,
      STACKQUAY_BASE_DOMAIN: 'dev.example.org',
      STACKQUAY_TLS_LOCAL: 'on',
      ...env,
    }),
  }
  const known = createKnownCertificates({ store, config, now })
  await known.load()
  const hosts = projectHosts(config, known.isSecure)
  const told: ProxyCertificates[] = []
  const readdressed: string[][] = []
  const errors: unknown[] = []
  const keeper = openCertificateKeeper({
    ...{ store, known, config, now, ready: Promise.resolve(), resolver: hosts },
    projects: {
      all: () =>
        slugs.map((slug) => ({ row: { id: `prj_${slug}`, slug }, resolved: { extraHosts: [], pages: [] } })) as never,
    },
    network: { of: () => ({ domains: [], formerSlugs: [], rules: null, share: null }) },
    proxy: { setCertificates: async (all) => void told.push(all) },
    readdressed: async (projects) => void readdressed.push([...projects]),
    onError: (error) => errors.push(error),
  })
  t.after(async () => {
    await keeper.close()
    await store.close()
    await rm(home, { recursive: true, force: true })
  })
  await keeper.renew()
  return { home, store, config, known, hosts, keeper, told, readdressed, errors, clock, slugs }
}

const localCertificates = (all: ProxyCertificates | undefined) => all?.certificates.map(({ names }) => names) ?? []

test('the local authority is limited to private names and the base domain, and signs what hosts need', async (t) => {
  const { store, known, told, hosts, keeper, errors } = await world(t)
  assert.deepEqual(errors, [])
  const authority = new X509Certificate(known.authority()!.certificate)
  assert.equal(authority.ca, true)
  assert.ok(authority.validToDate.getTime() - Date.now() > 3640 * day)
  assert.deepEqual(localCertificates(told.at(-1)), [
    ['*.dev.example.org', '*.share.dev.example.org', 'dev.example.org'],
  ])
  const [sent] = told.at(-1)!.certificates
  const leaf = new X509Certificate(sent!.certificate)
  assert.ok(leaf.checkIssued(authority) && leaf.verify(authority.publicKey))
  assert.equal(leaf.checkHost('shop.dev.example.org'), '*.dev.example.org')
  assert.ok(leaf.validToDate.getTime() - leaf.validFromDate.getTime() <= 397 * day)
  assert.deepEqual([sent!.redirect, sent!.hstsSeconds], [true, null])
  assert.equal(hosts.url('shop'), 'https://shop.dev.example.org:8743')
  assert.equal(hosts.urlOf('shop.example.com'), 'http://shop.example.com:8780')

  const page = keeper.page.shownFor(null)
  const shown = new X509Certificate(page!.certificate)
  assert.ok(shown.checkPrivateKey(createPrivateKey(await page!.key())))
  assert.deepEqual([page!.redirect, page!.hstsSeconds], [false, null])
  assert.equal(shown.checkIP('127.0.0.1'), '127.0.0.1')
  assert.equal(shown.checkIP('::1') !== undefined, true)
  assert.equal(shown.checkHost('localhost'), 'localhost')
  assert.deepEqual(
    (await store.audit.list({ limit: 10 })).map(({ action }) => action),
    ['certificate.authority'],
  )
})

test('a restart makes nothing anew, a name more makes one more, and two thirds of the time renew', async (t) => {
  const { store, keeper, told, slugs, clock, known, config } = await world(t, {
    slugs: ['shop'],
    env: { STACKQUAY_BASE_DOMAIN: 'localhost' },
  })
  const ids = async () => (await store.certificates.all()).map(({ id }) => id).sort()
  const before = await ids()
  await keeper.renew()
  assert.deepEqual(await ids(), before)
  assert.equal(told.length, 1)
  slugs.push('blog')
  await keeper.renew()
  assert.deepEqual(localCertificates(told.at(-1)).flat().sort(), [
    '*.share.localhost',
    'blog.localhost',
    'shop.localhost',
  ])
  assert.equal((await ids()).length, before.length + 1)
  slugs.shift()
  await keeper.renew()
  assert.deepEqual(localCertificates(told.at(-1)).flat().sort(), ['*.share.localhost', 'blog.localhost'])

  const authority = known.authority()!.id
  clock.now = new Date(Date.now() + 300 * day)
  await keeper.renew()
  const rows = await store.certificates.all()
  assert.ok(
    rows.every(({ notAfter, source }) => source === 'authority' || Date.parse(notAfter) > Date.now() + 600 * day),
  )
  assert.equal(known.authority()!.id, authority, 'people have not to trust another one')

  config.tls = { ...config.tls, local: false }
  await keeper.renew()
  assert.deepEqual(told.at(-1)!.certificates, [])
  assert.deepEqual(
    (await store.certificates.all()).map(({ source }) => source),
    ['authority'],
  )
})

test('whoever asks at once gets one of each, and another base domain another authority', async (t) => {
  const { store, keeper, config, known, hosts, readdressed } = await world(t)
  const before = known.authority()!.id
  await Promise.all(Array.from({ length: 20 }, () => keeper.renew()))
  const subjects = async () =>
    (await store.certificates.all()).map(({ source, subject }) => `${source} ${subject}`).sort()
  assert.deepEqual(await subjects(), ['authority local', 'local instance', 'local page'])
  config.baseDomain = 'other.example.com'
  await keeper.renew()
  assert.notEqual(known.authority()!.id, before)
  assert.deepEqual(await subjects(), ['authority local', 'local instance', 'local page'])
  assert.equal(hosts.url('shop'), 'https://shop.other.example.com:8743')
  assert.deepEqual(readdressed, [['prj_shop']], 'when the first authority came; a new host never had another address')
})

test('a certificate of one’s own wins over the local one until it ends, and its end changes addresses by itself', async (t) => {
  const { store, keeper, told, clock, hosts, config, readdressed } = await world(t, {
    env: { STACKQUAY_TLS_LOCAL: 'off' },
  })
  assert.deepEqual(told.at(-1)!.certificates, [])
  assert.equal(hosts.url('shop'), 'http://shop.dev.example.org:8780')
  config.tls = { ...config.tls, hstsSeconds: 300 }
  const { certificate, key, parsed } = await makePair({ names: ['*.dev.example.org'], days: [-1, 30] })
  const times = { notBefore: parsed.notBefore.toISOString(), notAfter: parsed.notAfter.toISOString() }
  await store.transaction((tx) =>
    tx.certificates.put(
      { source: 'own', subject: 'x', names: ['*.dev.example.org'], certificate, ...times, nextRenewal: null },
      key,
    ),
  )
  await keeper.renew()
  assert.equal(hosts.url('shop'), 'https://shop.dev.example.org:8743')
  assert.deepEqual(readdressed, [['prj_shop']])
  assert.equal(told.at(-1)!.certificates[0]!.hstsSeconds, 300)
  assert.deepEqual(keeper.troubles(), [])
  config.tls = { ...config.tls, local: true }
  await keeper.renew()
  const names = localCertificates(told.at(-1))
  assert.deepEqual(names, [['*.dev.example.org'], ['*.share.dev.example.org', 'dev.example.org']])
  assert.equal(told.at(-1)!.certificates[1]!.hstsSeconds, null, 'never for the local authority')
  clock.now = new Date(Date.now() + 15 * day)
  assert.deepEqual(
    keeper.troubles().map(({ kind, hosts: of }) => [kind, ...of]),
    [['expiring', 'shop.dev.example.org']],
  )
  config.tls = { ...config.tls, local: false }
  clock.now = new Date(Date.now() + 31 * day)
  await keeper.renew()
  assert.equal(hosts.url('shop'), 'http://shop.dev.example.org:8780')
  assert.deepEqual(
    keeper.troubles().map(({ kind }) => kind),
    ['expired'],
  )
})

test('over the API: keys go in and never out, not into answers, the log, the audit log or files', async (t) => {
  const { app, call, session, log, home } = await openTestApp(t)
  const headers = await session()
  const pair = await makePair({ names: ['shop.localhost'] })
  const other = await makePair({ names: ['shop.localhost'] })
  const put = (body: object) => call('putTlsCertificate', { headers, body })
  const refused = await put({ certificate: pair.certificate, key: other.key })
  assert.equal(refused.status, 422)
  assert.deepEqual(
    refused.json.errors.map((error: { code: string }) => error.code),
    ['key_mismatch'],
  )
  const made = await put({ certificate: pair.certificate, key: pair.key })
  assert.equal(made.status, 200, made.body)
  const view = made.json as TlsCertificate
  assert.deepEqual([view.source, view.names], ['own', ['shop.localhost']])
  assert.ok(view.warnings.some((text) => text.includes('No host of this instance')))
  const again = await put({ certificate: other.certificate, key: other.key })
  assert.notEqual(again.json.id, view.id)
  const tls = (await call('getTls', { headers })).json as Tls
  assert.deepEqual(
    tls.certificates.map(({ id }) => id),
    [again.json.id],
    'the same names, another certificate',
  )
  assert.equal((await call('deleteTlsCertificate', { headers, params: { certificate: view.id } })).status, 404)

  assert.equal((await call('getTlsAuthority')).status, 404)
  const on = await call('updateSettings', { headers, body: { settings: { tlsLocal: 'on' } } })
  assert.equal(on.status, 200, on.body)
  const authority = await call('getTlsAuthority')
  assert.equal(authority.status, 200)
  assert.equal(new X509Certificate(authority.body).ca, true)
  const local = await app.store.certificates.all()
  const localKeys = await Promise.all(local.map(async ({ id }) => (await app.store.certificates.key(id)).expose()))
  const deletion = await call('deleteTlsCertificate', {
    headers,
    params: { certificate: local.find(({ source }) => source === 'local')!.id },
  })
  assert.equal(deletion.json.code, 'conflict')
  const ca = local.find(({ source }) => source === 'authority')!.id
  assert.equal((await call('deleteTlsCertificate', { headers, params: { certificate: ca } })).status, 204)
  const another = await call('getTlsAuthority')
  assert.equal(another.status, 200, another.body)
  assert.notEqual(another.body, authority.body)
  assert.equal((await call('deleteTlsCertificate', { headers, params: { certificate: again.json.id } })).status, 204)

  const audit = await call('listAudit', { headers })
  const actions = audit.json.items.map(({ action }: { action: string }) => action)
  for (const action of ['certificate.put', 'certificate.delete', 'certificate.authority'])
    assert.ok(actions.includes(action))
  const keys = [pair.key, other.key, ...localKeys]
  const files = await Promise.all(
    ['stackquay.db', 'stackquay.db-wal'].map((name) => readFile(join(home, name), 'latin1')),
  )
  const everywhere = [log(), audit.body, refused.body, made.body, JSON.stringify(tls), ...files]
  for (const key of keys) {
    const middle = key.split('\n')[1]!
    for (const [index, text] of everywhere.entries()) assert.equal(text.includes(middle), false, `in text ${index}`)
  }
  assert.ok(keys.length > 4)
})
