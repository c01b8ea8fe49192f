import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { OperationRecord, Plan, Problem, ProjectView, Snapshot } from '@stackquay/contract'
import { waitFor } from '@stackquay/testkit'
import mysql from 'mysql2/promise'
import { Client } from 'pg'
import { type Service, startService } from './support/service.ts'

const id = 'shop'

/** Snapshots and clones of real databases, while they are written to and while the service is killed. */
describe('snapshots and clones of real databases', { concurrency: 1 }, () => {
  let service: Service

  before(async () => {
    service = await startService()
    const databases = { main: { type: 'postgresql', version: '15' }, second: { type: 'mariadb' } }
    const body = { name: 'Shop', databases, redis: { enabled: true } }
    const made = await service.client.call('createProject', { body, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    await postgres('CREATE TABLE book (n int PRIMARY KEY, text text)')
    await postgres('INSERT INTO book SELECT n, repeat(md5(n::text), 20) FROM generate_series(1, 20000) n')
    await mariadb('CREATE TABLE book (n int PRIMARY KEY, text text)')
    await mariadb("INSERT INTO book VALUES (1, 'one')")
  })
  after(() => service?.close())

  const urlOf = async (db: string) => {
    const credentials = await service.client.call('getDatabaseCredentials', { params: { id, db } })
    return (credentials as { url: string }).url
  }
  const postgres = async (sql: string, db = 'main') => {
    const client = new Client(await urlOf(db))
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  const mariadb = async (sql: string, db = 'second') => {
    const client = await mysql.createConnection(await urlOf(db))
    try {
      return (await client.query(sql))[0] as readonly Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }
  const count = async (db = 'main') => Number((await postgres('SELECT count(*) FROM book', db))[0].count)
  const called = async <Body>(method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${service.url}/api/v1/projects/${id}${path}`, {
      method,
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body }
  }
  const snapshot = async (db: string, name: string) => {
    const answer = await called<Snapshot>('POST', `/databases/${db}/snapshots?wait=100`, { name })
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    return answer.body
  }
  const restore = async (db: string, name: string) => {
    const path = `/databases/${db}/snapshots/${name}/restore?wait=150`
    const answer = await called<OperationRecord>('POST', path, { confirm: db }, { 'if-match': '*' })
    assert.deepEqual([answer.status, answer.body.state], [200, 'succeeded'], JSON.stringify(answer.body))
    return answer.body
  }
  const snapshots = async (db: string) =>
    (await called<{ items: Snapshot[] }>('GET', `/databases/${db}/snapshots`)).body.items
  const projectId = async () => (await service.client.call('getProject', { params: { id } })).id
  const folders = async () => (await readdir(join(service.home, 'data', await projectId()))).sort()

  it('a PostgreSQL that is written to runs on; rows from before are there after a restore, later ones are gone', async () => {
    const plan = (await called<Plan>('POST', '/databases/main/snapshots?dryRun=true', {})).body.plan
    assert.deepEqual([plan.restarts, plan.warnings], [[], []])
    assert.match(plan.steps[0]?.title ?? '', /while it runs/)
    const acknowledged = writer('main')
    await waitFor('some rows', async () => acknowledged.done() > 50)
    const low = acknowledged.done()
    const made = await snapshot('main', 'first')
    const high = acknowledged.done()
    await acknowledged.stop()
    assert.ok(made.bytes > 1e6 && made.milliseconds >= 0, JSON.stringify(made))
    await postgres('CREATE TABLE later (n int); DELETE FROM book WHERE n <= 100')

    await restore('main', 'first')
    const [{ n }] = await postgres('SELECT count(*)::int AS n FROM written')
    assert.ok(n >= low && n <= high + 1, `${low} <= ${n} <= ${high}`)
    assert.equal(await count(), 20_000)
    assert.deepEqual(await postgres("SELECT FROM pg_class WHERE relname = 'later'"), [])
    const [before] = (await snapshots('main')).filter(({ source }) => source === 'before-restore')
    assert.ok(before)
    await restore('main', before.id)
    assert.equal(await count(), 19_900)
    assert.equal((await postgres("SELECT FROM pg_class WHERE relname = 'later'")).length, 1)
  })

  it('a clone is a database of its own with the data of the first', async () => {
    const rows = await count()
    const answer = await called<ProjectView>('POST', '/databases/main/clone?wait=150', { name: 'twin' })
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    assert.equal(answer.body.databases.twin?.type, 'postgresql')
    assert.equal(await count('twin'), rows)
    await postgres('DELETE FROM book', 'twin')
    assert.deepEqual([await count('twin'), await count()], [0, rows])
    const of = await called<ProjectView>('POST', '/databases/main/clone?wait=150', { name: 'old', snapshot: 'first' })
    assert.equal(of.status, 201, JSON.stringify(of.body))
    assert.equal(await count('old'), 20_000)
    const again = await called<Problem>('POST', '/databases/main/clone', { name: 'old' })
    assert.deepEqual([again.status, again.body.code], [409, 'conflict'])
    // A clone restarts and gets new passwords like any other.
    await service.client.call('rotateDatabaseCredentials', { params: { id, db: 'old' }, query: { wait: 100 } })
    assert.equal(await count('old'), 20_000)
    const dropped = await called('DELETE', '/databases/old?confirm=old&wait=100')
    assert.equal(dropped.status, 200)
  })

  it('MariaDB and Redis stop for the copy, and come back', async () => {
    const plan = (await called<Plan>('POST', '/databases/second/snapshots?dryRun=true', {})).body.plan
    assert.equal(plan.restarts.length, 1)
    await snapshot('second', 'first')
    await mariadb("INSERT INTO book VALUES (2, 'two')")
    await restore('second', 'first')
    assert.deepEqual(
      (await mariadb('SELECT n FROM book')).map(({ n }) => n),
      [1],
    )
    const clone = await called<ProjectView>('POST', '/databases/second/clone?wait=150', { name: 'third' })
    assert.equal(clone.status, 201, JSON.stringify(clone.body))
    await mariadb("INSERT INTO book VALUES (7, 'seven')", 'third')
    assert.equal((await mariadb('SELECT n FROM book')).length, 1)

    await redis('SET', 'before', '1')
    await snapshot('redis', 'first')
    await redis('SET', 'after', '1')
    await restore('redis', 'first')
    assert.deepEqual([await redis('GET', 'before'), await redis('GET', 'after')], ['$1', '$-1'])
    const refused = await called<Problem>('POST', '/databases/redis/clone', { name: 'other' })
    assert.equal(refused.body.code, 'engine_cannot')
  })

  it('a service that is killed leaves a whole snapshot or none, and what it restores is restored', async () => {
    const rows = await count()
    for (const delay of [30, 120, 250, 500]) {
      void called('POST', '/databases/main/snapshots', { name: `killed-${delay}` }).catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, delay))
      await service.kill()
      await service.start()
      await settled()
      const known = (await snapshots('main')).map((one) => one.id)
      const left = (await folders()).filter((name) => name.startsWith('snp_') || name.startsWith('.'))
      const ids = [
        ...known,
        ...(await snapshots('second')).map((one) => one.id),
        ...(await snapshots('redis')).map((one) => one.id),
      ]
      assert.deepEqual(left, ids.sort())
    }
    await snapshot('main', 'round')
    await postgres('DELETE FROM book')
    for (const delay of [50, 400]) {
      void called('POST', '/databases/main/snapshots/round/restore', { confirm: 'main' }, { 'if-match': '*' }).catch(
        () => undefined,
      )
      await new Promise((resolve) => setTimeout(resolve, delay))
      await service.kill()
      await service.start()
      await settled()
    }
    await restore('main', 'round')
    assert.equal(await count(), rows)
  })

  it('a dropped database takes its snapshots along, and brings them back from the trash', async () => {
    const made = await snapshot('twin', 'gone')
    const plan = (await called<Plan>('DELETE', '/databases/twin?dryRun=true')).body.plan
    assert.deepEqual([...plan.deletesData].sort(), ['postgresql-twin', made.id].sort())
    assert.equal((await called('DELETE', '/databases/twin?confirm=twin&wait=100')).status, 200)
    assert.ok(!(await folders()).includes(made.id))
    assert.equal((await called('GET', '/databases/twin/snapshots')).status, 404)
    const { items } = await service.client.call('listTrash', {})
    const item = items.find(({ name }) => name === 'twin')
    await service.client.call('restoreTrash', { params: { item: item?.id ?? '' }, query: { wait: 100 } })
    assert.ok((await folders()).includes(made.id))
    await restore('twin', 'gone')
  })

  async function settled(): Promise<void> {
    await waitFor('an end of what was under way', async () => {
      const { items } = await service.client.call('listOperations', { query: { active: true } })
      return items.length === 0
    })
  }

  async function redis(...words: readonly string[]): Promise<string> {
    const credentials = (await service.client.call('getServiceCredentials', {
      params: { id, service: 'redis' },
    })) as Record<string, string | number>
    const { connect } = await import('node:net')
    const socket = connect(Number(credentials.hostPort ?? credentials.port), '127.0.0.1')
    const lines: string[] = []
    socket.setEncoding('utf8')
    const command = (parts: readonly string[]) =>
      socket.write(`*${parts.length}\r\n${parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')}`)
    try {
      command(['AUTH', String(credentials.password)])
      command(words)
      for await (const text of socket) {
        lines.push(...String(text).split('\r\n').filter(Boolean))
        if (lines.length >= 2) break
      }
      return lines[1] ?? ''
    } finally {
      socket.destroy()
    }
  }

  /** Writes row after row, each in a transaction of its own. */
  function writer(db: string) {
    let stopped = false
    let done = 0
    const ended = (async () => {
      const client = new Client(await urlOf(db))
      await client.connect()
      await client.query('CREATE TABLE IF NOT EXISTS written (n int PRIMARY KEY)')
      while (!stopped) {
        await client.query('INSERT INTO written VALUES ($1)', [done])
        done += 1
      }
      await client.end()
    })()
    return {
      done: () => done,
      stop: async () => {
        stopped = true
        await ended
      },
    }
  }
})
