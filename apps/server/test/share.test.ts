import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Problem, Share } from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import { waitFor } from '@stackquay/testkit'
import { passwordHolds } from '../src/access/passwords.ts'
import { openTestApp, type TestApp } from './projects-support.ts'

interface Shown {
  readonly share: Share | null
  readonly providers: readonly { name: string; available: boolean; reason: string | null; install: string | null }[]
}

const path = '/projects/shop/share'
const startedAt = Date.parse('2026-11-22T12:00:00.000Z')

/** A clock that stands still until the test moves it. */
function clock() {
  let at = startedAt
  return {
    now: () => new Date(at),
    pass: (minutes: number) => {
      at += minutes * 60_000
    },
  }
}

async function shop(app: TestApp, name = 'Shop'): Promise<string> {
  const made = await app.ask('POST', '/projects?wait=30', { name, node: {}, start: false })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body.id
}

const share = (app: TestApp, body?: object) => app.ask<Share & Problem>('POST', path, body)
const shown = async (app: TestApp) => (await app.ask<Shown>('GET', path)).body
const until = (what: string, check: () => Promise<boolean>) => waitFor(what, check, { timeoutMs: 30_000 })

async function recorded(app: TestApp, project: string) {
  const entries = await app.store.audit.list({ limit: 100, project })
  return entries
    .filter(({ action, outcome }) => action.startsWith('share.') && outcome === 'success')
    .map(({ action, actor }) => `${action} by ${actor}`)
    .toReversed()
}

test('a share has an address that nobody can guess, until it is ended', async (t) => {
  const time = clock()
  const app = await openTestApp(t, { now: time.now })
  const id = await shop(app)
  const before = await shown(app)
  assert.equal(before.share, null)
  assert.deepEqual(
    before.providers.map(({ name }) => name),
    ['direct', 'cloudflare', 'ssh'],
  )
  assert.equal(before.providers[0]!.available, true)

  const made = await share(app)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  assert.match(made.body.url!, /^http:\/\/[a-z2-7]{16}\.share\.localhost$/)
  const { id: shareId, url, ...rest } = made.body
  assert.match(shareId, /^shr_/)
  assert.deepEqual(rest, {
    provider: 'direct',
    state: 'open',
    detail: null,
    hasPassword: false,
    workload: null,
    expiresAt: '2026-11-22T13:00:00.000Z',
    createdAt: '2026-11-22T12:00:00.000Z',
    actor: made.body.actor,
    viewers: 0,
  })
  assert.deepEqual((await shown(app)).share, made.body)
  // Whoever may read the audit log or events is not let in by them.
  const told = JSON.stringify([await app.store.audit.list({ limit: 100 }), await app.store.events.after(0, 1000)])
  assert.ok(!told.includes(new URL(url!).host))

  assert.equal((await app.ask('DELETE', path)).status, 204)
  assert.equal((await shown(app)).share, null)
  assert.equal((await app.ask('DELETE', path)).status, 404)
  assert.deepEqual(await recorded(app, id), [`share.create by ${made.body.actor}`, `share.end by ${made.body.actor}`])
})

test('a project has one share at a time, also when ten are asked for at once', async (t) => {
  const time = clock()
  const app = await openTestApp(t, { now: time.now })
  await shop(app)
  const answers = await Promise.all(Array.from({ length: 10 }, () => share(app, { minutes: 30 })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(9).fill(409)])
  const refused = answers.find(({ status }) => status === 409)!
  assert.equal(refused.body.code, 'conflict')
  assert.match(refused.body.detail ?? '', /until 2026-11-22T12:30:00\.000Z/)
  assert.equal((await app.store.network.allShares()).length, 1)
})

test('times and passwords that are none, unknown providers and what has no page are refused', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  for (const minutes of [4, 10_081, 5.5, '60']) assert.equal((await share(app, { minutes })).status, 422, `${minutes}`)
  assert.equal((await share(app, { password: 'short' })).status, 422)
  const provider = await share(app, { provider: 'pigeon' })
  assert.equal(provider.body.errors?.[0]?.code, 'unknown_provider')
  const workload = await share(app, { workload: 'redis' })
  assert.match(workload.body.detail ?? '', /no workload "redis" with a page\. There is node\./)
  await app.ask('POST', '/projects?wait=30', { name: 'Bare', start: false })
  const bare = await app.ask<Problem>('POST', '/projects/bare/share', {})
  assert.equal(bare.status, 422, JSON.stringify(bare.body))
  assert.match(bare.body.detail ?? '', /nothing with a page/)
  const ssh = await share(app, { provider: 'ssh' })
  assert.equal(ssh.status, 422)
  assert.equal(ssh.body.code, 'unavailable_here')
  assert.equal((await app.ask('POST', '/projects/nobody/share', {})).status, 404)
  assert.deepEqual(await app.store.network.allShares(), [])
  assert.equal((await share(app, { minutes: 5, workload: 'node' })).body.workload, 'node')
})

test('administrators share, operators end, readers look', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const operator = await app.as('operate')
  const reader = await app.as('read')
  assert.equal((await operator('POST', path, {})).status, 403)
  assert.equal((await share(app)).status, 201)
  assert.equal((await reader('GET', path)).status, 200)
  assert.equal((await reader('DELETE', path)).status, 403)
  assert.equal((await operator('DELETE', path)).status, 204)
})

test('its password is kept as a hash, and is nowhere else', async (t) => {
  const app = await openTestApp(t)
  const id = await shop(app)
  const password = 'a walrus in the bath'
  const made = await share(app, { password })
  assert.equal(made.body.hasPassword, true)
  const { passwordHash } = (await app.store.network.share(id))!
  assert.ok(await passwordHolds(password, passwordHash))
  const told = JSON.stringify([
    made.body,
    await shown(app),
    (await app.ask('GET', '/projects/shop')).body,
    await app.store.audit.list({ limit: 100 }),
    await app.store.events.after(0, 1000),
    app.errors,
  ])
  assert.ok(!told.includes(password))
  assert.ok(!told.includes('$argon2'))
})

test('a share that is over removes itself, and the system is recorded as who did', async (t) => {
  const time = clock()
  const app = await openTestApp(t, { now: time.now })
  const id = await shop(app)
  const made = await share(app, { minutes: 5 })
  time.pass(4.99)
  assert.equal((await shown(app)).share?.id, made.body.id)
  time.pass(0.02)
  await until('the share to be gone', async () => (await shown(app)).share === null)
  assert.deepEqual(await recorded(app, id), [`share.create by ${made.body.actor}`, 'share.expire by system'])
  assert.equal((await share(app)).status, 201, 'and there may be another')
})

test('a share outlives a restart of the service, and one whose time came meanwhile does not', async (t) => {
  const time = clock()
  const app = await openTestApp(t, { now: time.now })
  const id = await shop(app)
  await app.ask('POST', '/projects?wait=30', { name: 'Other', node: {}, start: false })
  await app.ask('POST', '/projects/other/share', { minutes: 600 })
  const made = await share(app, { minutes: 60, password: 'a walrus in the bath' })
  const once = await app.reopen({ now: time.now })
  assert.deepEqual((await shown(once)).share, made.body)
  time.pass(61)
  const twice = await once.reopen({ now: time.now })
  assert.equal((await shown(twice)).share, null)
  assert.deepEqual(await recorded(twice, id), [`share.create by ${made.body.actor}`, 'share.expire by system'])
  assert.ok((await twice.ask<Shown>('GET', '/projects/other/share')).body.share !== null)
  assert.deepEqual(twice.errors, [])
})

/** A machine with the program of a provider: what it does is said by the engine of the test. */
async function withProgram(t: TestContext, name: string) {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-path-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, name), '#!/bin/sh\n')
  await chmod(join(folder, name), 0o755)
  const before = process.env.PATH
  process.env.PATH = `${folder}:${before}`
  t.after(() => {
    process.env.PATH = before
  })
  return folder
}

const banner = [
  'INF Requesting new quick Tunnel on trycloudflare.com...',
  'INF |  Your quick Tunnel has been created! Visit it at (it may take some time to be reachable):  |',
  'INF |  https://calm-owl-of-june.trycloudflare.com                                                |',
  '',
].join('\n')

const commandOf = (app: TestApp, project: string, { id }: { id: string }) => app.engine.commands.find({ project, id })

test('through a provider it is connecting until the program has said its address', async (t) => {
  const folder = await withProgram(t, 'cloudflared')
  const time = clock()
  const app = await openTestApp(t, { now: time.now })
  const id = await shop(app)
  assert.equal((await shown(app)).providers[1]!.available, true)
  app.engine.nextCommand({ output: [{ stream: 'stderr', text: banner.slice(0, 90) }], exit: null })
  const made = await share(app, { provider: 'cloudflare', minutes: 10 })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  assert.deepEqual([made.body.state, made.body.url], ['connecting', null])
  await until('the program to run', async () => (await commandOf(app, id, made.body)) !== null)

  const program = app.engine.command({ project: id, id: made.body.id })!
  const [lease] = (await app.store.ports.of(id)).filter(({ workload }) => workload === made.body.id)
  const port = lease!.hostPort
  assert.deepEqual(program.spec.argv, [
    join(folder, 'cloudflared'),
    ...['tunnel', '--config', '/dev/null', '--no-autoupdate', '--url', `http://127.0.0.1:${port}`],
  ])
  assert.deepEqual(Object.keys(program.env).sort(), ['LC_ALL', 'PATH'], 'nothing of the service’s environment')
  assert.equal(program.spec.timeoutSeconds, 600, 'it ends with the share, whoever is there')

  program.print(banner.slice(90), 'stderr')
  await until('the address', async () => (await shown(app)).share?.state === 'open')
  assert.equal((await shown(app)).share?.url, 'https://calm-owl-of-june.trycloudflare.com')

  const again = await app.reopen({ now: time.now })
  assert.equal((await shown(again)).share?.state, 'open')
  assert.equal((await commandOf(again, id, made.body))?.state, 'running', 'it was not started twice')

  assert.equal((await again.ask('DELETE', path)).status, 204)
  await until('the program to be gone', async () => (await commandOf(again, id, made.body)) === null)
  assert.deepEqual(
    (await again.store.ports.of(id)).filter(({ workload }) => workload.startsWith('shr_')),
    [],
  )
  assert.deepEqual(again.errors, [])
})

test('a program that ends early fails its share with its last line; the share is ended like any other', async (t) => {
  await withProgram(t, 'cloudflared')
  const app = await openTestApp(t)
  const id = await shop(app)
  const reason = 'failed to request quick Tunnel: Post "https://api.trycloudflare.com/tunnel": no such host'
  app.engine.nextCommand({
    output: [{ stream: 'stderr', text: `\u001b[31m${reason}\u001b[0m\n` }],
    exit: { code: 1 },
  })
  const made = await share(app, { provider: 'cloudflare' })
  await until('the failure', async () => (await shown(app)).share?.state === 'failed')
  const failed = (await shown(app)).share!
  assert.equal(failed.url, null, 'the address of the service is not that of the share')
  assert.equal(failed.detail, `Its program ended with exit code 1. It said: ${reason}`)
  const again = await app.reopen()
  assert.equal((await shown(again)).share?.state, 'failed', 'nothing starts it again')
  assert.equal((await again.ask('DELETE', path)).status, 204)
  await until('the program to be gone', async () => (await commandOf(again, id, made.body)) === null)
})

test('a program that cannot be started fails its share, and one that ends later too', async (t) => {
  await withProgram(t, 'cloudflared')
  const app = await openTestApp(t)
  const id = await shop(app)
  app.engine.nextCommand({ error: new EngineError('io_failed', 'The disk is full.', { hint: 'Make room.' }) })
  await share(app, { provider: 'cloudflare' })
  await until('the failure', async () => (await shown(app)).share?.state === 'failed')
  assert.equal((await shown(app)).share?.detail, 'The disk is full.')
  await app.ask('DELETE', path)

  app.engine.nextCommand({ output: [{ stream: 'stderr', text: banner }], exit: null })
  const made = await share(app, { provider: 'cloudflare' })
  await until('the address', async () => (await shown(app)).share?.state === 'open')
  app.engine.command({ project: id, id: made.body.id })!.finish({ signal: 'SIGKILL' })
  await until('the failure', async () => (await shown(app)).share?.state === 'failed')
  assert.match((await shown(app)).share?.detail ?? '', /^Its program ended by SIGKILL\. It said: /)
})

test('a program goes with the end of its share, with its project, and when nobody knows it', async (t) => {
  await withProgram(t, 'cloudflared')
  const time = clock()
  const app = await openTestApp(t, { now: time.now })
  const id = await shop(app)
  const open = async (on: TestApp) => {
    on.engine.nextCommand({ output: [{ stream: 'stderr', text: banner }], exit: null })
    const made = await share(on, { provider: 'cloudflare', minutes: 5 })
    await until('the address', async () => (await shown(on)).share?.state === 'open')
    return made.body
  }
  const first = await open(app)
  time.pass(6)
  await until('the program to be gone', async () => (await commandOf(app, id, first)) === null)

  const second = await open(app)
  // As a crash between two steps leaves it.
  await app.store.transaction((tx) => tx.network.deleteShare(second.id))
  const again = await app.reopen({ now: time.now })
  await until('the program to be gone', async () => (await commandOf(again, id, second)) === null)

  const third = await open(again)
  assert.equal((await again.ask('DELETE', '/projects/shop?confirm=shop&data=delete&wait=30')).status, 200)
  await until('the program to be gone', async () => (await commandOf(again, id, third)) === null)
  assert.deepEqual(await again.store.network.allShares(), [])
  assert.deepEqual(again.errors, [])
})

test('over SSH the server chooses the port', async (t) => {
  const folder = await withProgram(t, 'ssh')
  const app = await openTestApp(t, { env: { STACKQUAY_SHARE_SSH: 'gate@tunnel.example.org:2222' } })
  const id = await shop(app)
  const text = 'Allocated port 41234 for remote forward to 127.0.0.1:20000\r\n'
  app.engine.nextCommand({ output: [{ stream: 'stderr', text }], exit: null })
  const made = await share(app, { provider: 'ssh' })
  await until('the address', async () => (await shown(app)).share?.state === 'open')
  assert.equal((await shown(app)).share?.url, 'http://tunnel.example.org:41234')
  const { argv } = app.engine.command({ project: id, id: made.body.id })!.spec
  const [lease] = (await app.store.ports.of(id)).filter(({ workload }) => workload === made.body.id)
  assert.equal(argv[0], join(folder, 'ssh'))
  assert.deepEqual(argv.slice(-6), [
    ...['-p', '2222', '-R', `*:0:127.0.0.1:${lease!.hostPort}`],
    ...['--', 'gate@tunnel.example.org'],
  ])
})
