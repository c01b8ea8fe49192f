import assert from 'node:assert/strict'
import { copyFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { apiPrefix } from '@stackquay/contract'
import { WebSocket } from 'ws'
import { admin, type Service, startService } from './support/service.ts'

type Headers = Readonly<Record<string, string>>

describe('access, over a real service that is ended, killed and tampered with', () => {
  let service: Service
  let session: Headers

  before(async () => {
    service = await startService()
    const project = await service.client.call('createProject', {
      body: { name: 'Shop', template: 'static', env: { KEY: { value: 'open sesame', secret: true } } },
      query: { wait: 60 },
    })
    assert.equal(project.status.state, 'running')
    session = await logIn()
  })
  after(async () => {
    await service?.close()
  })

  it('a revoked token’s open log stream is closed within a second, and its next request is 401', async () => {
    const made = await send('POST', '/tokens', { name: 'ci', scope: 'read' })
    const headers = { authorization: `Bearer ${made.json.value}` }
    const socket = new WebSocket(`${service.url.replace('http', 'ws')}${apiPrefix}/projects/shop/logs/ws`, { headers })
    const frames: { type: string; problem?: { code: string } }[] = []
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    const began = new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.on('message', (data) => {
        frames.push(JSON.parse(String(data)))
        resolve()
      })
    })
    await began
    assert.equal((await send('DELETE', `/tokens/${made.json.id}`)).status, 204)
    const revoked = performance.now()
    assert.equal((await fetch(`${service.url}${apiPrefix}/projects`, { headers })).status, 401)
    assert.equal(await closed, 4401)
    assert.ok(performance.now() - revoked < 1000, `${performance.now() - revoked} ms`)
    assert.equal(frames.at(-1)?.problem?.code, 'unauthorized')
  })

  it('killed at random moments while the key is replaced, the service starts again and opens every secret', {
    timeout: 120_000,
  }, async () => {
    for (let round = 0; round < 8; round++) {
      const replacing = send('POST', '/settings/secret-key/replace', { password: admin.password }).catch(() => null)
      // The password alone takes some 20 ms to check.
      await delay(10 + Math.random() * 60)
      await service.kill()
      await replacing
      await service.start()
      session = await logIn()
      assert.equal(await revealed(), 'open sesame')
      const state = await service.client.call('verifyAudit', {})
      assert.equal(state.ok, true, String(state.reason))
      await assert.rejects(readFile(join(service.home, 'secret.key.next')), { code: 'ENOENT' })
    }
    const done = await send('POST', '/settings/secret-key/replace', { password: admin.password })
    assert.equal(done.status, 200, done.text)
    await restart()
    assert.equal(await revealed(), 'open sesame')
  })

  it('a wrong key is refused at the start by its id, and nothing is changed', async () => {
    const { json } = await send('GET', '/settings/secret-key')
    const file = join(service.home, 'secret.key')
    const right = await readFile(file)
    await stop()
    await writeFile(file, `${Buffer.alloc(32, 7).toString('base64')}\n`)
    await assert.rejects(service.start())
    assert.match(service.output(), new RegExp(`are sealed with the key ${json.id}; the service was given the key`))
    await rm(file)
    await assert.rejects(service.start())
    assert.match(service.output(), /secret\.key is not there/)
    await writeFile(file, right, { mode: 0o600 })
    await service.start()
    session = await logIn()
  })

  it('an older copy of the database is noticed by verify and by the diagnostics, however long it goes on', async () => {
    await stop()
    const file = join(service.home, 'stackquay.db')
    await copyFile(file, `${file}.old`)
    await service.start()
    const before = await service.client.call('verifyAudit', {})
    for (let index = 0; index < 3; index++) await send('POST', '/tokens', { name: `token ${index}` }, await logIn())
    await stop()
    const newer = join(service.home, 'stackquay.db.newer')
    const checkpoint = await readFile(join(service.home, 'audit.checkpoint'))
    await rename(file, newer)
    await copyFile(`${file}.old`, file)
    for (let start = 0; start < 2; start++) {
      await service.start()
      const found = await service.client.call('verifyAudit', {})
      assert.equal(found.ok, false)
      assert.ok(found.firstBroken !== null && found.firstBroken > 0 && found.firstBroken <= before.entries + 1)
      assert.match(String(found.reason), /are missing: the checkpoint of/)
      const { checks } = await service.client.call('getDiagnostics', {})
      const audit = checks.find(({ id }) => id === 'audit')
      assert.equal(audit?.status, 'error')
      assert.match(String(audit?.detail), new RegExp(`from entry ${found.firstBroken} on`))
      session = await logIn()
      await stop()
    }
    await rename(newer, file)
    await writeFile(join(service.home, 'audit.checkpoint'), checkpoint)
    await service.start()
    assert.equal((await service.client.call('verifyAudit', {})).ok, true)
  })

  /** What somebody with the file does, and the first entry that is not right afterwards. `at` lies in the middle. */
  const harms: Readonly<Record<string, (at: number, last: number) => readonly [number, ...string[]]>> = {
    changed: (at) => [at, `update audit set actor = 'eve' where seq = ${at}`],
    deleted: (at) => [at, `delete from audit where seq = ${at}`],
    'cut off': (at) => [at, `delete from audit where seq >= ${at}`],
    'moved behind the next': (at) => [
      at,
      `update audit set seq = -1 where seq = ${at}`,
      `update audit set seq = ${at} where seq = ${at + 1}`,
      `update audit set seq = ${at + 1} where seq = -1`,
    ],
    'inserted at the end': (at, last) => [
      last + 1,
      `create temp table copy as select * from audit where seq = ${at}`,
      `update copy set seq = ${last + 1}, actor = 'eve'`,
      'insert into audit select * from copy',
    ],
  }
  for (const [what, harm] of Object.entries(harms)) {
    it(`an entry that was ${what} in the file is named`, async () => {
      await stop()
      const file = join(service.home, 'stackquay.db')
      await copyFile(file, `${file}.whole`)
      try {
        const database = new DatabaseSync(file)
        database.exec('drop trigger audit_no_update; drop trigger audit_no_delete')
        const { last } = database.prepare('select max(seq) as last from audit').get() as { last: number }
        const [first, ...statements] = harm(Math.floor(last / 2), last)
        for (const statement of statements) database.exec(statement)
        database.close()
        await service.start()
        const found = await service.client.call('verifyAudit', {})
        assert.deepEqual([found.ok, found.firstBroken], [false, first])
      } finally {
        await stop()
        await copyFile(`${file}.whole`, file)
        await service.start()
      }
      assert.equal((await service.client.call('verifyAudit', {})).ok, true)
    })
  }

  /** Ends the service as a person does; afterwards the one file is the whole database. */
  async function stop(): Promise<void> {
    await service.stop()
    const left = await readdir(service.home)
    assert.ok(!left.includes('stackquay.db-wal'), service.output().slice(-2000))
  }

  async function restart(): Promise<void> {
    await stop()
    await service.start()
    session = await logIn()
  }

  async function revealed(): Promise<string | null> {
    const input = { params: { id: 'shop', name: 'KEY' }, query: { reveal: true } }
    return (await service.client.call('getProjectEnvValue', input)).value
  }

  async function logIn(): Promise<Headers> {
    const answer = await fetch(`${service.url}${apiPrefix}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(admin),
    })
    const { csrfToken } = (await answer.json()) as { csrfToken: string }
    return { cookie: answer.headers.get('set-cookie')!.split(';')[0]!, 'x-csrf-token': csrfToken }
  }

  async function send(method: string, path: string, body?: unknown, headers: Headers = session) {
    const answer = await fetch(`${service.url}${apiPrefix}${path}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, text, json: text === '' ? null : JSON.parse(text) }
  }
})
