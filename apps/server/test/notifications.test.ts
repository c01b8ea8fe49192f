import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { notificationEvents } from '@stackquay/contract'
import { openStore, type Store } from '@stackquay/store'
import { waitFor } from '@stackquay/testkit'
import { rounds } from '@stackquay/testkit/rounds'
import { codeAt, fromBase32, stepAt } from '../src/access/factors/totp.ts'
import { createNotifier } from '../src/notifications/dispatcher.ts'
import { channelSecret } from '../src/notifications/sealed-settings.ts'
import { auditNews, diskNews } from '../src/notifications/watch-instance.ts'
import { keyPlace } from '../src/sealing-key.ts'
import { admin, openTestApp, type TestApp } from './app-support.ts'

test('a channel is made, tested, changed and removed; what is secret of it is sealed and never shown', async (t) => {
  const { opened, call } = await app(t)
  const receiver = await receive(t)
  const url = `${receiver.url}/services/T0/B0/topsecretkey`
  const kinds = (await call('listNotificationChannels')).json.kinds
  assert.equal(kinds.find(({ name }: Named) => name === 'slack').settingsSchema.properties.url.writeOnly, true)
  const made = await call('createNotificationChannel', { body: { name: 'Team', kind: 'slack', settings: { url } } })
  assert.equal(made.status, 201, made.body)
  const { id, address, settings, events } = made.json
  assert.deepEqual([address, settings, events], [new URL(url).host, { hasUrl: true }, [...notificationEvents]])
  const tested = await call('testNotificationChannel', { params: { channel: id } })
  assert.deepEqual([tested.json.state, tested.json.attempts[0].status], ['delivered', 200])
  assert.match(JSON.parse(receiver.received[0]!.body).text, /Test message/)

  receiver.answer = { status: 404, body: 'no_service for /services/T0/B0/topsecretkey' }
  const refused = await call('testNotificationChannel', { params: { channel: id } })
  assert.deepEqual(
    [refused.json.state, refused.json.attempts[0].error],
    ['failed', 'The receiver answered 404. no_service for [secret]'],
  )
  const body = { cooldownMinutes: 5, quietHours: { from: '22:00', to: '07:00', timezone: 'Europe/Berlin' } }
  const changed = await call('updateNotificationChannel', { params: { channel: id }, body })
  assert.deepEqual([changed.status, changed.json.cooldownMinutes], [200, 5])
  const log = (await call('listNotificationDeliveries', { params: { channel: id } })).json.items
  assert.deepEqual(
    log.map(({ state }: { state: string }) => state),
    ['failed', 'delivered'],
  )
  // A new key opens it as the old one did.
  assert.equal((await call('replaceSecretKey', { body: { password: admin.password } })).status, 200)
  receiver.answer = { status: 200, body: 'ok' }
  assert.equal((await call('testNotificationChannel', { params: { channel: id } })).json.state, 'delivered')
  assert.equal((await call('deleteNotificationChannel', { params: { channel: id } })).status, 204)
  const { store } = opened.app
  assert.equal(await store.secrets.find(null, channelSecret(id)), null)
  const audit = JSON.stringify(await store.audit.list({ limit: 100 }))
  for (const action of ['create', 'test', 'update', 'delete'])
    assert.ok(audit.includes(`notification.${action}`), action)
  const all = [made, tested, refused, changed, await call('listNotificationChannels')].map((one) => one.body).join()
  for (const text of [audit, all, opened.log()]) assert.ok(!text.includes('topsecretkey'))
})

test('what cannot be a channel is refused with where and why; another address needs the secrets again', async (t) => {
  const { call } = await app(t)
  const refusal = async (body: object) => {
    const { status, json } = await call('createNotificationChannel', { body: { name: 'x', ...body } })
    return [status, json.errors?.[0]?.pointer]
  }
  const mail = { host: 'smtp.example.org', from: 'a@example.org', to: ['b@example.org'], password: 'secret', user: 'a' }
  assert.deepEqual(await refusal({ kind: 'pigeon', settings: {} }), [422, '/kind'])
  assert.deepEqual(await refusal({ kind: 'slack', settings: { url: 'ftp://x' } }), [422, '/settings/url'])
  assert.deepEqual(await refusal({ kind: 'slack', settings: { url: 'http://169.254.169.254/' } }), [
    422,
    '/settings/url',
  ])
  assert.deepEqual(await refusal({ kind: 'slack', settings: { url: 'https://a:b@x.example/' } }), [
    422,
    '/settings/url',
  ])
  assert.deepEqual(await refusal({ kind: 'email', settings: { ...mail, to: ['x\r\nBcc: y@z'] } }), [
    422,
    '/settings/to/0',
  ])
  assert.deepEqual(await refusal({ kind: 'email', settings: { ...mail, host: 'fd00:ec2::254' } }), [
    422,
    '/settings/host',
  ])
  const quietHours = { from: '22:00', to: '07:00', timezone: 'Mars' }
  assert.deepEqual(await refusal({ kind: 'email', settings: mail, quietHours }), [422, '/quietHours/timezone'])
  assert.deepEqual(await refusal({ kind: 'email', settings: mail, projects: ['nowhere'] }), [422, '/projects/0'])

  const made = await call('createNotificationChannel', { body: { name: 'Mail', kind: 'email', settings: mail } })
  assert.equal(made.status, 201, made.body)
  assert.deepEqual([made.json.address, made.json.settings.hasPassword], ['b@example.org by smtp.example.org', true])
  const change = (settings: object) =>
    call('updateNotificationChannel', { params: { channel: made.json.id }, body: { settings } })
  const moved = await change({ host: 'smtp.evil.example' })
  assert.deepEqual(
    [moved.status, moved.json.errors[0].pointer, moved.json.errors[0].code],
    [422, '/settings/password', 'needed_again'],
  )
  assert.equal((await change({ host: 'smtp2.example.org', password: 'other' })).status, 200)
  assert.equal((await change({ to: ['c@example.org'] })).status, 200)
  const taken = await call('createNotificationChannel', { body: { name: 'Mail', kind: 'email', settings: mail } })
  assert.equal(taken.status, 409)
})

test('a second factor that is added or reset is told, with the person and what it is', async (t) => {
  const { opened, call } = await app(t)
  const receiver = await receive(t)
  const told = () => receiver.received.map(({ body }) => JSON.parse(body).title as string)
  const settings = { serverUrl: receiver.url, token: 'A1' }
  const channel = { name: 'phone', kind: 'gotify', settings, events: ['second-factor'] }
  assert.equal((await call('createNotificationChannel', { body: channel })).status, 201)
  const again = { password: admin.password }
  const { secret } = (await call('beginTotp', { body: again })).json
  const code = codeAt(fromBase32(secret), stepAt(Date.now()))
  assert.equal((await call('confirmTotp', { body: { code } })).status, 200)
  await comes(() => told().includes('ada: authenticator app added'))
  assert.ok(!receiver.received.some(({ body }) => body.includes(secret)))
  const { id } = (await opened.app.store.users.byName('ada'))!
  assert.equal((await call('resetSecondFactor', { params: { uid: id }, body: again })).status, 200)
  await comes(async () => {
    const [found] = await opened.app.store.notifications.groupsFrom('instance/factor/')
    return found?.group.title === 'ada: authenticator app removed'
  })
})

test('a program that crashes and a log-in from a new device are told; a stop by hand is not', async (t) => {
  const { opened, call } = await app(t)
  const receiver = await receive(t)
  const titles = () => receiver.received.map(({ body }) => JSON.parse(body).title as string)
  const settings = { serverUrl: receiver.url, token: 'A1' }
  await call('createNotificationChannel', { body: { name: 'phone', kind: 'gotify', settings } })
  const body = { name: 'Shop', static: {}, start: false }
  const made = await call('createProject', { body, query: { wait: '20' } })
  assert.equal(made.status, 201, made.body)
  opened.engine.machine.files.add(made.json.path)
  await call('startProject', { params: { id: 'shop' }, query: { wait: '20' } })
  opened.engine.crash({ project: made.json.id, workload: 'static' })
  await comes(() => titles().some((title) => /^Shop: static ended/.test(title)))
  await opened.session()
  await comes(() => titles().some((title) => /^ada logged in from a new device/.test(title)))
  await call('stopProject', { params: { id: 'shop' }, query: { wait: '20' } })
  await comes(async () => {
    const [first] = await opened.app.store.notifications.groupsFrom(`${made.json.id}/workload/`)
    return first?.group.open === false && first.group.endedAt === null
  })
  assert.equal(titles().length, 2, titles().join())
})

test('1,000 failures a minute are one message in each cool-down and lose no count', async (t) => {
  const { store, clock, start, fail, texts } = await notifying(t)
  await store.transaction((tx) => tx.notifications.update('ntc_1', { cooldownMinutes: 5 }))
  const notifier = await start()
  const began = clock.at
  for (let minute = 0; minute < 10; minute++) {
    clock.at = began + minute * 60_000
    await fail(1000)
    notifier.wake()
    await settled(store, clock)
  }
  clock.at = began + 10 * 60_000
  notifier.wake()
  await settled(store, clock)
  await notifier.close()
  const found = await texts()
  assert.equal(found.length, 3)
  const told = found.map((text) => Number(/(\d+) times/.exec(text)?.[1] ?? 1))
  assert.equal(
    told.reduce((sum, count) => sum + count, 0),
    10_000,
  )
})

test('a backup that is late or not whole and a failed deploy are told once each, whatever the order; retries keep their id', async (t) => {
  const { store, clock, start, receiver, texts } = await notifying(t)
  receiver.answer = { status: 503, body: 'busy' }
  const notifier = await start()
  const data = { id: 'op_1', kind: 'deploy', state: 'failed', error: { detail: 'npm ci failed.' } }
  await store.transaction(async (tx) => {
    await tx.events.append({ type: 'backup.late', project: null, data: { project: null } })
    await tx.events.append({ type: 'backup.verified', project: null, data: { id: 'bak_1', outcome: 'faulty' } })
    await tx.events.append({ type: 'backup.verified', project: null, data: { id: 'bak_2', outcome: 'whole' } })
    await tx.events.append({ type: 'operation.changed', project: null, data })
    await tx.events.append({ type: 'operation.changed', project: null, data })
  })
  await comes(async () => (await log(store))[0]?.attempts.length === 1)
  receiver.answer = { status: 200, body: 'ok' }
  clock.at += 60_000
  notifier.wake()
  await comes(async () => (await log(store))[0]?.state === 'delivered')
  await notifier.close()
  assert.equal((await log(store)).length, 1)
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  assert.deepEqual([ids.length, new Set(ids).size], [2, 1])
  const [text = ''] = await texts()
  for (const line of [/the backup is late/, /a backup is not whole/, /a deploy failed. npm ci failed\./])
    assert.match(text, line)
})

test('the disk and the audit log are looked at: told once, and again when they are well', async (t) => {
  const { store, clock, home, start, texts, now } = await notifying(t)
  const notifier = await start()
  assert.equal(
    (await diskNews({ home, now })).incidents.length + (await auditNews({ store, now })).incidents.length >= 0,
    true,
  )
  const broken = {
    verify: async () => ({ ok: false, entries: 3, firstBroken: 2, reason: 'Entry 2 is missing.', checkpoint: null }),
  }
  const look = async (audit: Pick<Store['audit'], 'verify'>) =>
    notifier.take([await auditNews({ store: { ...store, audit: { ...store.audit, ...audit } }, now })])
  await look(broken)
  await look(broken)
  await settled(store, clock)
  await look(store.audit)
  clock.at += 61_000
  notifier.wake()
  await settled(store, clock)
  await notifier.close()
  assert.deepEqual(
    (await texts()).map((text) => text.split('\n')[0]),
    ['The audit log does not hold from entry 2 on', 'The audit log holds again'],
  )
})

test('a channel that is off, or made later, hears nothing of what was before', async (t) => {
  const { store, start, fail, receiver } = await notifying(t)
  const turn = (enabled: boolean) =>
    store.transaction(async (tx) => {
      await tx.notifications.update('ntc_1', { enabled })
      await tx.events.append({ type: 'notification.changed', project: null, data: { id: 'ntc_1' } })
    })
  const taken = async () => {
    const { last } = await store.events.range()
    await comes(async () => (await store.settings.get('notifications.position')) === last)
  }
  const first = await start()
  await turn(false)
  await fail(3)
  await turn(false)
  await taken()
  await turn(true)
  await taken()
  await first.close()
  const second = await start()
  await fail(1)
  await comes(() => receiver.received.length === 1)
  await second.close()
  assert.doesNotMatch(receiver.received[0]!.body, /\d times/)
})

test('killed at any moment, nothing that happened stays untold, and one message at most is sent twice', async (t) => {
  const { store, home, receiver, now } = await notifying(t, { keepOpen: false })
  await store.close()
  const program = fileURLToPath(new URL('notify-until-killed.ts', import.meta.url))
  const run = async (round: number, count: number, killAfterMs: number | null) => {
    const child = spawn(process.execPath, [program, home, String(round), String(count)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    await once(child.stdout, 'data')
    if (killAfterMs !== null) await Promise.race([sleep(killAfterMs), ended])
    if (killAfterMs !== null) child.kill('SIGKILL')
    return ended
  }
  const kills = rounds(5, 40)
  for (let round = 0; round < kills; round++) await run(round, 400, randomInt(20, 500))
  assert.deepEqual(await run(kills, 1, null), [0, null])
  const again = await openStore({ file: join(home, 'state.db'), ...keyPlace(home, null).candidates, clock: { now } })
  const events = (await again.events.after(0, 50_000)).filter(({ type }) => type === 'cron.failed')
  const messages = await again.notifications.deliveries({ channel: 'ntc_1', limit: 10_000 })
  await again.close()
  const happened = events.map(({ data }) => String(data.name))
  const told = messages.map(({ message }) => `${message.title}\n${message.text}`).join('\n')
  const named = new Set([...told.matchAll(/job-\d+-\d+/g)].map(([name]) => name))
  const more = [...told.matchAll(/And (\d+) more/g)].reduce((sum, [, count]) => sum + Number(count), 0)
  assert.ok(happened.length > 20, `only ${happened.length} events`)
  assert.equal(named.size + more, happened.length)
  assert.ok([...named].every((name) => happened.includes(name)))
  assert.ok(messages.every(({ state }) => state === 'delivered'))
  const ids = receiver.received.map(({ headers }) => String(headers['webhook-id']))
  assert.deepEqual(new Set(ids), new Set(messages.map(({ id }) => id)))
  const twice = ids.length - new Set(ids).size
  assert.ok(twice <= kills, `${twice} messages came again after ${kills} kills`)
  t.diagnostic(`${happened.length} events in ${messages.length} messages, ${twice} of them again, over ${kills} kills`)
})

interface Named {
  readonly name: string
}

/** The machine may be busy. */
function comes(ask: () => boolean | Promise<boolean>) {
  return waitFor('the notification', ask, { timeoutMs: 30_000 })
}

/** Everything that is due is delivered. */
function settled(store: Store, clock: { at: number }) {
  return comes(async () => {
    const { last } = await store.events.range()
    const due = await store.notifications.firstDue()
    return (
      ((await store.settings.get<number>('notifications.position')) ?? 0) >= last - 1 &&
      (due === null || Date.parse(due) > clock.at) &&
      (await store.notifications.nextPending([])) === null
    )
  })
}

function log(store: Store) {
  return store.notifications.deliveries({ channel: 'ntc_1', limit: 100 })
}

async function app(t: TestContext) {
  const opened = await openTestApp(t)
  const headers = await opened.session()
  const call: TestApp['call'] = (id, options = {}) =>
    opened.call(id, { ...options, headers: { ...headers, ...options.headers } })
  return { opened, call }
}

async function receive(t: TestContext) {
  const received: { headers: Record<string, unknown>; body: string }[] = []
  const receiver = { received, url: '', answer: { status: 200, body: 'ok' } }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    received.push({ headers: request.headers, body })
    response.writeHead(receiver.answer.status).end(receiver.answer.body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return receiver
}

/** A store with one channel, a clock that stands, and a notifier that can be started again and again. */
async function notifying(t: TestContext, { keepOpen = true } = {}) {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-notify-'))
  const clock = { at: Date.parse('2026-01-01T12:00:00Z') }
  const now = () => new Date(clock.at)
  const store = await openStore({ file: join(home, 'state.db'), ...keyPlace(home, null).candidates, clock: { now } })
  t.after(async () => {
    if (keepOpen) await store.close()
    await rm(home, { recursive: true })
  })
  const receiver = await receive(t)
  const rules = { events: [...notificationEvents], projects: [], quietHours: null, cooldownMinutes: 30, enabled: true }
  await store.transaction(async (tx) => {
    await tx.secrets.put(null, channelSecret('ntc_1'), JSON.stringify({ url: receiver.url, secret: null }))
    await tx.notifications.insert({ id: 'ntc_1', name: 'hook', kind: 'webhook', settings: {}, ...rules })
  })
  let failures = 0
  const status = { id: 'prj_1', slug: 'shop', state: 'degraded', desired: 'running', health: 'none' }
  return {
    home,
    store,
    clock,
    now,
    receiver,
    start: async () => {
      const onError = (error: unknown) => assert.fail(String(error))
      const notifier = createNotifier({ store, now, publicUrl: 'http://localhost', onError })
      await notifier.start()
      return notifier
    },
    fail: (count: number) =>
      store.transaction(async (tx) => {
        for (let index = 0; index < count; index++) {
          failures += 1
          const one = {
            workload: 'web',
            state: 'backing-off',
            outOfMemory: false,
            reason: 'It ended.',
            mark: `${failures}`,
          }
          const data = { ...status, failing: [one], running: [] }
          await tx.events.append({ type: 'project.status', project: 'prj_1', data })
        }
      }),
    texts: async () => (await log(store)).map(({ message }) => `${message.title}\n${message.text}`).toReversed(),
  }
}
