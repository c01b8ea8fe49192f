import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openStore, type Transaction } from '@stackquay/store'
import { waitFor } from '@stackquay/testkit'
import { keyPlace } from '../src/sealing-key.ts'
import { createDispatcher } from '../src/webhooks/dispatcher.ts'
import { post } from '../src/webhooks/post.ts'
import { addressBlocker } from '../src/webhooks/receivers.ts'
import { nextAttempt, retryAfter, retrySeconds } from '../src/webhooks/retries.ts'
import { webhookSecret } from '../src/webhooks/sealed-keys.ts'
import { newWebhookSecret, rotated, signedHeaders, writeKeys } from '../src/webhooks/signature.ts'
import { openTestApp, type TestApp } from './app-support.ts'

test('a signature is the one of Standard Webhooks, and after a rotation both keys sign for a day', () => {
  // The example of the specification.
  const keys = { current: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', previous: null }
  const body = '{"test": 2432232314}'
  const at = new Date(1614265330 * 1000)
  assert.deepEqual(signedHeaders(keys, 'msg_p5jXN8AQM9LWM0D4loKWxJek', body, at), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
  const both = rotated(keys, at)
  const inADay = new Date(at.getTime() + 23 * 3600 * 1000)
  assert.equal(signedHeaders(both, 'msg_1', body, inADay)['webhook-signature']?.split(' ').length, 2)
  const later = new Date(at.getTime() + 25 * 3600 * 1000)
  assert.equal(signedHeaders(both, 'msg_1', body, later)['webhook-signature']?.split(' ').length, 1)
  assert.match(newWebhookSecret(), /^whsec_[A-Za-z0-9+/]{43}=$/)
})

test('what failed is tried again later and later for about three days, and a receiver’s patience is kept', () => {
  const now = new Date('2026-01-01T00:00:00Z')
  const waits = retrySeconds.map((_, index) => (nextAttempt(index + 1, now, null, 0)!.getTime() - now.getTime()) / 1000)
  assert.deepEqual(waits, [...retrySeconds])
  assert.deepEqual(
    waits.toSorted((a, b) => a - b),
    waits,
  )
  assert.equal(nextAttempt(retrySeconds.length + 1, now, null, 0), null)
  assert.equal(nextAttempt(1, now, 120, 0)!.getTime() - now.getTime(), 120_000)
  assert.equal(nextAttempt(1, now, 10 ** 9, 0)!.getTime() - now.getTime(), 86_400_000)
  assert.equal(retryAfter('Thu, 01 Jan 2026 00:01:00 GMT', now), 60)
  assert.equal(retryAfter('soon', now), null)
})

const metadata = {
  'AWS, GCP, Azure, OpenStack': '169.254.169.254',
  'AWS over IPv6': 'fd00:ec2::254',
  'containers of ECS': '169.254.170.2',
  'pods of EKS': '169.254.170.23',
  'pods of EKS over IPv6': 'fd00:ec2::23',
  'GCP over IPv6': 'fd20:ce::254',
  Alibaba: '100.100.100.200',
  Oracle: '192.0.0.192',
  'services of Azure': '168.63.129.16',
  'Scaleway over IPv6': 'fd00:42::42',
  'link-local': '169.254.1.1',
  'link-local IPv6': 'fe80::1',
  'with a zone': 'fe80::1%eth0',
}

test('nobody has events sent to an address at which a cloud hands out credentials, however it is written', () => {
  for (const [whose, address] of Object.entries(metadata)) assert.notEqual(addressBlocker(address), null, whose)
  for (const address of Object.values(metadata).filter((one) => !one.includes(':'))) {
    const [a, b, c, d] = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'))
    const written = [
      `::ffff:${address}`,
      `::ffff:${a}${b}:${c}${d}`,
      `::${address}`,
      `64:ff9b::${address}`,
      `64:ff9b::${a}${b}:${c}${d}`,
      `64:ff9b:1::${address}`,
      `64:ff9b:1:${a}${b}:${c}:${d}00::`,
      `2002:${a}${b}:${c}${d}::1`,
      `::ffff:0:${address}`,
      `fd00::5efe:${address}`,
    ]
    for (const one of written) assert.notEqual(addressBlocker(one), null, one)
    const [first = 0, second = 0, third = 0, fourth = 0] = address.split('.').map(Number)
    const decimal = ((first * 256 + second) * 256 + third) * 256 + fourth
    for (const host of [String(decimal), `0x${decimal.toString(16)}`, `${first}.${second}.${third * 256 + fourth}`])
      assert.notEqual(addressBlocker(new URL(`http://${host}/`).hostname), null, host)
  }
  for (const name of ['metadata.google.internal', 'Metadata.Google.Internal.', 'metadata.goog'])
    assert.notEqual(addressBlocker(name), null, name)
  for (const address of ['0.0.0.0', '::', '224.0.0.1', 'ff02::1'])
    assert.notEqual(addressBlocker(address), null, address)
})

test('services of the own network and of the internet receive events', () => {
  const receivers = ['127.0.0.1', '10.0.0.1', '192.168.1.1', '100.64.0.1', '192.0.2.1', '::1', 'fd12::1', 'example.org']
  for (const address of [
    ...receivers,
    '2001:db8::a9fe:a9fe',
    '64:ff9b::c000:201',
    '::ffff:10.0.0.1',
    '2606:4700::1111',
  ])
    assert.equal(addressBlocker(address), null, address)
})

test('whose name leads to a metadata address when the connection is made gets nothing, whatever it led to before', async () => {
  const answers = [['127.0.0.1'], ['169.254.169.254'], ['127.0.0.1', 'fd00:ec2::254'], ['::ffff:100.100.100.200']]
  const asked: string[] = []
  const lookup = ((name: string, _options: object, callback: (error: null, found: object[]) => void) => {
    asked.push(name)
    const found = answers.shift() ?? []
    callback(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }) as never
  const signal = AbortSignal.timeout(20_000)
  // Port 1: nothing listens there, and nothing has to.
  const send = () => post('http://rebinding.example:1/', {}, '{}', signal, lookup)
  assert.match((await send()).error ?? '', /ECONNREFUSED/)
  for (let turn = 0; turn < 3; turn++) {
    const { status, error } = await send()
    assert.deepEqual(
      [status, error?.replace(/ to \S+:/, ' to X:')],
      [null, 'Events are not sent to X: it belongs to the machine itself, not to a receiver.'],
    )
  }
  assert.equal(asked.length, 4)
})

test('an event arrives signed, once, with its id; the delivery is in the log', async (t) => {
  const { opened, call } = await app(t)
  const receiver = await receive(t)
  const hook = (
    await call('createWebhook', {
      body: { name: 'ci', url: `${receiver.url}/hook?key=1`, events: ['project.created'] },
    })
  ).json
  assert.match(hook.secret, /^whsec_/)
  assert.equal(
    (await call('createProject', { body: { name: 'Shop', start: false }, query: { wait: '10' } })).status,
    201,
  )
  await comes(() => receiver.received.length === 1)
  const { headers, body } = receiver.received[0]!
  const payload = JSON.parse(body)
  assert.equal(payload.type, 'project.created')
  assert.equal(payload.data.slug, 'shop')
  const at = new Date(Number(headers['webhook-timestamp']) * 1000)
  const wanted = signedHeaders({ current: hook.secret, previous: null }, String(headers['webhook-id']), body, at)
  assert.equal(headers['webhook-signature'], wanted['webhook-signature'])
  const log = await deliveries(call, hook.id, (items) => items[0]?.state === 'delivered')
  assert.equal(log.length, 1)
  assert.equal(log[0].id, headers['webhook-id'])
  assert.equal(log[0].attempts[0].status, 200)
  const listed = await call('listWebhooks')
  assert.ok(!listed.body.includes('whsec_'))
  const audit = await opened.app.store.audit.list({ limit: 50, action: 'webhook.create' })
  assert.ok(!JSON.stringify(audit).includes('whsec_') && !JSON.stringify(audit).includes('key=1'))
})

test('a receiver that fails gets the same delivery again, with the same id', async (t) => {
  const { call } = await app(t)
  const receiver = await receive(t, (count) => (count === 0 ? 503 : 204))
  const body = { name: 'ci', url: receiver.url, events: ['project.created'] }
  const hook = (await call('createWebhook', { body })).json
  await call('createProject', { body: { name: 'Shop', start: false }, query: { wait: '10' } })
  const waiting = await deliveries(call, hook.id, (items) => items[0]?.attempts.length === 1)
  assert.equal(waiting[0].state, 'pending')
  assert.equal(waiting[0].attempts[0].status, 503)
  const again = await call('redeliver', { params: { hook: hook.id, delivery: waiting[0].id } })
  assert.equal(again.status, 202)
  const done = await deliveries(call, hook.id, (items) => items[0]?.state === 'delivered')
  assert.equal(done[0].attempts.length, 2)
  assert.equal(receiver.received[0]?.headers['webhook-id'], receiver.received[1]?.headers['webhook-id'])
})

test('a webhook of one project hears nothing of another; one that is off hears nothing', async (t) => {
  const { call } = await app(t)
  const receiver = await receive(t)
  const shop = (await call('createProject', { body: { name: 'Shop', start: false }, query: { wait: '10' } })).json
  const common = { url: receiver.url, events: ['project.changed', 'project.created', 'project.deleted'] }
  await call('createWebhook', { body: { ...common, name: 'shop', projects: ['shop'] } })
  await call('createWebhook', { body: { ...common, name: 'off', enabled: false } })
  await call('createProject', { body: { name: 'Blog', start: false }, query: { wait: '10' } })
  await call('updateProject', { params: { id: 'blog' }, body: { env: { A: { value: '1' } } }, query: { wait: '10' } })
  await call('updateProject', { params: { id: 'shop' }, body: { env: { A: { value: '1' } } }, query: { wait: '10' } })
  await comes(() => receiver.received.length > 0)
  assert.ok(receiver.received.every(({ body }) => JSON.parse(body).project === shop.id))
  const unknown = await call('createWebhook', { body: { ...common, name: 'x', projects: ['nowhere'] } })
  assert.equal(unknown.json.errors[0].pointer, '/projects/0')
})

test('a test is sent at once and once; a refusal of the receiver is its answer', async (t) => {
  const { call } = await app(t)
  const receiver = await receive(t, () => 401)
  const hook = (await call('createWebhook', { body: { name: 'ci', url: receiver.url, events: ['run.changed'] } })).json
  const { json } = await call('testWebhook', { params: { hook: hook.id } })
  assert.equal(json.state, 'failed')
  assert.equal(json.attempts[0].status, 401)
  assert.equal(JSON.parse(receiver.received[0]!.body).type, 'webhook.test')
  const nobody = (
    await call('createWebhook', { body: { name: 'x', url: 'http://127.0.0.1:9', events: ['run.changed'] } })
  ).json
  const lost = await call('testWebhook', { params: { hook: nobody.id } })
  assert.equal(lost.json.attempts[0].status, null)
  assert.match(lost.json.attempts[0].error, /ECONNREFUSED/)
})

test('410 switches a webhook off, and the audit log says why; switching it on gives it a new chance', async (t) => {
  const { opened, call } = await app(t)
  const receiver = await receive(t, () => 410)
  const hook = (await call('createWebhook', { body: { name: 'ci', url: receiver.url, events: ['project.created'] } }))
    .json
  await call('createProject', { body: { name: 'Shop', start: false }, query: { wait: '10' } })
  const find = async () => (await call('listWebhooks')).json.items.find((one: { id: string }) => one.id === hook.id)
  await comes(async () => (await find()).enabled === false)
  assert.match((await find()).disabledReason, /410/)
  const [entry] = await opened.app.store.audit.list({ limit: 5, action: 'webhook.update' })
  assert.equal(entry?.actor, 'system')
  const on = await call('updateWebhook', { params: { hook: hook.id }, body: { enabled: true } })
  assert.equal(on.json.enabled, true)
  assert.equal(on.json.disabledReason, null)
})

test('what was committed while nobody sent is told after the next start, each event once', async (t) => {
  const { store, start, append } = await dispatching(t)
  const receiver = await receive(t)
  await append(3)
  await (await start()).close()
  await store.transaction((tx) => addWebhook(tx, receiver.url))
  await append(700)
  for (let round = 0; round < 4; round++) await (await start()).close()
  const last = await start()
  t.after(() => last.close())
  await comes(async () => (await store.webhooks.nextPending({ ids: [], webhooks: [] })) === null)
  const told = receiver.received.map(({ body }) => JSON.parse(body).data.index as number)
  assert.deepEqual(
    [...new Set(told)].toSorted((a, b) => a - b),
    Array.from({ length: 700 }, (_, index) => index),
  )
  // One that was under way when the dispatcher closed is sent again, with the same id.
  const ids = receiver.received.map(({ headers, body }) => `${headers['webhook-id']} ${JSON.parse(body).data.index}`)
  assert.equal(new Set(ids).size, 700)
})

test('a webhook that is made or switched on hears nothing of what was before, also after a restart', async (t) => {
  const { store, start, append } = await dispatching(t)
  const receiver = await receive(t)
  const first = await start()
  await append(30)
  await store.transaction(async (tx) => {
    const { id } = await addWebhook(tx, receiver.url)
    await tx.events.append({ type: 'webhook.changed', project: null, data: { id } })
  })
  const { last } = await store.events.range()
  await comes(async () => (await store.settings.get('webhooks.position')) === last)
  await first.close()
  const second = await start()
  await append(1)
  await comes(() => receiver.received.length > 0)
  await second.close()
  assert.equal(receiver.received.length, 1)
  assert.equal((await store.webhooks.deliveries({ webhook: 'wh_1', limit: 9 })).length, 1)
})

test('a slow receiver holds up its own deliveries only', async (t) => {
  const { call } = await app(t)
  const gate = Promise.withResolvers<void>()
  t.after(() => gate.resolve())
  const slow = await receive(t, async () => {
    await gate.promise
    return 200
  })
  const quick = await receive(t)
  for (const [name, url] of [
    ['slow', slow.url],
    ['quick', quick.url],
  ] as const)
    await call('createWebhook', { body: { name, url, events: ['project.created'] } })
  for (const name of ['One', 'Two', 'Three', 'Four', 'Five'])
    await call('createProject', { body: { name, start: false }, query: { wait: '10' } })
  await comes(() => quick.received.length === 5)
  assert.equal(slow.received.length, 2)
  gate.resolve()
  await comes(() => slow.received.length === 5)
})

test('a new secret signs from now on, and what an address may not hold is refused', async (t) => {
  const { call } = await app(t)
  const receiver = await receive(t)
  const hook = (await call('createWebhook', { body: { name: 'ci', url: receiver.url, events: ['run.changed'] } })).json
  const next = (await call('rotateWebhookSecret', { params: { hook: hook.id } })).json
  assert.notEqual(next.secret, hook.secret)
  await call('testWebhook', { params: { hook: hook.id } })
  assert.equal(String(receiver.received[0]?.headers['webhook-signature']).split(' ').length, 2)
  for (const url of [
    'ftp://example.org',
    'http://169.254.169.254/',
    'http://[::ffff:169.254.169.254]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'http://100.100.100.200/',
    'http://a:b@example.org/',
    'x',
  ]) {
    const refused = await call('createWebhook', { body: { name: 'x', url, events: ['run.changed'] } })
    assert.equal(refused.status, 422, url)
    assert.equal(refused.json.errors[0].pointer, '/url')
  }
  const taken = await call('createWebhook', { body: { name: 'ci', url: receiver.url, events: ['run.changed'] } })
  assert.equal(taken.status, 409)
})

/** The machine may be busy. */
function comes(ask: () => boolean | Promise<boolean>) {
  return waitFor('the delivery', ask, { timeoutMs: 30_000 })
}

async function app(t: TestContext) {
  const opened = await openTestApp(t)
  const headers = await opened.session()
  const call: TestApp['call'] = (id, options = {}) =>
    opened.call(id, { ...options, headers: { ...headers, ...options.headers } })
  return { opened, call }
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
async function deliveries(call: TestApp['call'], hook: string, until: (items: any[]) => boolean): Promise<any[]> {
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  let items: any[] = []
  await comes(async () => {
    items = (await call('listDeliveries', { params: { hook } })).json.items
    return until(items)
  })
  return items
}

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

async function receive(t: TestContext, status: (count: number) => number | Promise<number> = () => 200) {
  const received: Received[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (text) => (body += text))
    request.on('end', async () => {
      const count = received.push({ headers: request.headers, body })
      response.writeHead(await status(count - 1)).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

/** A store with a dispatcher that can be started again and again. */
async function dispatching(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-webhooks-'))
  const keys = keyPlace(folder, null)
  const now = () => new Date()
  const store = await openStore({ file: join(folder, 'state.db'), ...keys.candidates, clock: { now } })
  t.after(async () => {
    await store.close()
    await rm(folder, { recursive: true })
  })
  const onError = (error: unknown) => assert.fail(String(error))
  return {
    store,
    append: (count: number) =>
      store.transaction(async (tx) => {
        for (let index = 0; index < count; index++)
          await tx.events.append({ type: 'project.status', project: null, data: { index } })
      }),
    start: async () => {
      const dispatcher = createDispatcher({ store, now, onError })
      await dispatcher.start()
      return dispatcher
    },
  }
}

async function addWebhook(tx: Transaction, url: string) {
  const events = ['project.status']
  await tx.secrets.put(null, webhookSecret('wh_1'), writeKeys({ current: newWebhookSecret(), previous: null }))
  return tx.webhooks.insert({ id: 'wh_1', name: 'ci', url, events, projects: [], enabled: true })
}
