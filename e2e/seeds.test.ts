import assert from 'node:assert/strict'
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { OperationRecord, Plan, Problem, Snapshot } from '@stackquay/contract'
import { waitFor } from '@stackquay/testkit'
import mysql from 'mysql2/promise'
import { Client } from 'pg'
import { type Service, startService } from './support/service.ts'

const id = 'shop'

/** New databases are filled from dumps in the source; a reset begins anew with them. */
describe('seeds of real databases', { concurrency: 1 }, () => {
  let service: Service
  let source: string

  before(async () => {
    service = await startService()
    const databases = {
      main: { type: 'postgresql', version: '15', seed: ['db/schema.sql', 'db/rows.sql.gz'] },
      second: { type: 'mariadb', seed: 'db/second.sql' },
    }
    const node = { enabled: true, preset: 'generic', command: ['node', 'server.js'], port: 3000 }
    const body = { name: 'Shop', databases, node, start: false }
    const made = await service.client.call('createProject', { body, query: { wait: 170 } })
    source = made.path
    await mkdir(join(source, 'db'))
    const server = "require('node:http').createServer((_, answer) => answer.end('ok')).listen(process.env.PORT)"
    await writeFile(join(source, 'server.js'), server)
  })
  after(() => service?.close())

  const urlOf = async (db: string) => {
    const credentials = await service.client.call('getDatabaseCredentials', { params: { id, db } })
    return (credentials as { url: string }).url
  }
  const postgres = async (sql: string) => {
    const client = new Client(await urlOf('main'))
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  const mariadb = async (sql: string) => {
    const client = await mysql.createConnection(await urlOf('second'))
    try {
      return (await client.query(sql))[0] as readonly Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }
  const called = async <Body>(method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${service.url}/api/v1/projects/${id}${path}`, {
      method,
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Body }
  }
  const start = async () => (await called<OperationRecord>('POST', '/start?wait=170')).body
  const reset = async (db: string) => {
    const answer = await called<OperationRecord>('POST', `/databases/${db}/reset?wait=170`, { confirm: db }, ifMatch)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }
  const ifMatch = { 'if-match': '*' }
  const seedFile = (name: string, text: string | Buffer) => writeFile(join(source, 'db', name), text)
  const leftFiles = () => readdir(join(service.home, 'dumps'))
  const books = async () => (await postgres('SELECT count(*)::int AS n FROM book'))[0]?.n

  it('a file that is missing, no file or outside is told before anything starts', async () => {
    await mkdir(join(source, 'db', 'rows.sql.gz'))
    await symlink('/etc/passwd', join(source, 'db', 'second.sql'))
    const refused = await called<Problem>('POST', '/start')
    assert.deepEqual(
      [refused.status, refused.body.errors?.map(({ pointer, code }) => [pointer, code])],
      [
        422,
        [
          ['/databases/main/seed/0', 'seed_missing'],
          ['/databases/main/seed/1', 'seed_not_a_file'],
          ['/databases/second/seed/0', 'seed_outside'],
        ],
      ],
    )
    assert.doesNotMatch(JSON.stringify(refused.body), /root:/)
    for (const path of ['../other.sql', '/etc/passwd']) {
      const patched = await called<Problem>('PATCH', '', { databases: { main: { seed: path } } })
      assert.equal(patched.body.errors?.[0]?.code, 'invalid_path', JSON.stringify(patched.body))
    }
    const { status } = (await service.client.call('getProject', { params: { id } })) as { status: { state: string } }
    assert.equal(status.state, 'stopped')
    await rm(join(source, 'db', 'rows.sql.gz'), { recursive: true })
    await rm(join(source, 'db', 'second.sql'))
  })

  it('a seed that fails names file, line and reason; what uses the database does not start, and nothing stays', async () => {
    await seedFile('schema.sql', 'CREATE TABLE book (n int PRIMARY KEY, text text);\n')
    await seedFile('rows.sql.gz', gzipSync('INSERT INTO book VALUES (1);\n\nINSERT INTO nowhere VALUES (1);\n'))
    await seedFile('second.sql', 'CREATE TABLE book (n int);\nINSERT INTO book VALUES (1);\nGARBAGE;\n')
    const { plan } = (await called<Plan>('POST', '/start?dryRun=true')).body
    assert.ok(
      plan.steps.some(({ title }) => /^Fill PostgreSQL main from db\/schema\.sql, db\/rows\.sql\.gz$/.test(title)),
      JSON.stringify(plan.steps),
    )
    const failed = await start()
    assert.equal(failed.state, 'failed', JSON.stringify(failed))
    assert.match(failed.error?.detail ?? '', /The seed db\/(rows\.sql\.gz|second\.sql) of .* failed: .*line 3/)
    const node = failed.steps.find((step) => step.id.includes('node') && step.state === 'succeeded')
    assert.equal(node, undefined, JSON.stringify(failed.steps))
    const project = await service.client.call('getProject', { params: { id } })
    const states = project.status.workloads.map(({ name, state, reason }) => [name, state, reason])
    assert.ok(
      states.some(([, state, reason]) => state !== 'running' && /The seed db/.test(String(reason))),
      JSON.stringify(states),
    )
    assert.deepEqual(await leftFiles(), [])
  })

  it('mended, both are filled before what uses them starts, once', async () => {
    const rows = Array.from({ length: 5000 }, (_, n) => `INSERT INTO book VALUES (${n}, 'text ${n}');`).join('\n')
    await seedFile('rows.sql.gz', gzipSync(rows))
    await seedFile('second.sql', 'USE production;\nCREATE TABLE book (n int);\nINSERT INTO book VALUES (1), (2);\n')
    const started = await start()
    assert.equal(started.state, 'succeeded', JSON.stringify(started.error))
    const seeded = started.steps.filter(({ id: step }) => step.startsWith('seed:'))
    const node = started.steps.find(({ title }) => /Node/.test(title) && /Start/i.test(title))
    assert.ok(node, JSON.stringify(started.steps.map(({ title }) => title)))
    for (const { finishedAt } of seeded) assert.ok(finishedAt! <= node.startedAt!)
    assert.ok(
      seeded.some(({ output }) => output.some((line) => /USE production.*left out/i.test(line))),
      JSON.stringify(seeded),
    )
    assert.equal(await books(), 5000)
    assert.equal((await mariadb('SELECT count(*) AS n FROM book'))[0]?.n, 2)

    await postgres('DROP TABLE book')
    await mariadb('DELETE FROM book')
    const restarted = await called<OperationRecord>('POST', '/restart?wait=170')
    assert.equal(restarted.body.state, 'succeeded')
    assert.deepEqual(await postgres("SELECT FROM pg_class WHERE relname = 'book'"), [])
    assert.equal((await mariadb('SELECT count(*) AS n FROM book'))[0]?.n, 0)
  })

  it('a reset keeps what is there as a snapshot and fills it again; one that fails puts it back', async () => {
    await postgres('CREATE TABLE mine (n int)')
    const plan = (await called<Plan>('POST', '/databases/main/reset?dryRun=true', { confirm: '' })).body.plan
    assert.match(JSON.stringify(plan.steps), /Keep PostgreSQL main as a snapshot.*Empty PostgreSQL main.*Fill/)
    assert.deepEqual(plan.deletesData, ['postgresql-main'])
    const unsure = await called<Problem>('POST', '/databases/main/reset', { confirm: 'other' }, ifMatch)
    assert.equal(unsure.body.errors?.[0]?.code, 'confirm')
    assert.equal((await called('POST', '/databases/main/reset', { confirm: 'main' })).status, 428)

    assert.equal((await reset('main')).state, 'succeeded')
    assert.deepEqual([await books(), await postgres("SELECT FROM pg_class WHERE relname = 'mine'")], [5000, []])
    const { items } = (await called<{ items: Snapshot[] }>('GET', '/databases/main/snapshots')).body
    assert.deepEqual(
      items.map(({ source }) => source),
      ['before-reset'],
    )
    assert.equal((await reset('second')).state, 'succeeded')
    assert.equal((await mariadb('SELECT count(*) AS n FROM book'))[0]?.n, 2)

    await postgres('CREATE TABLE precious AS SELECT 1 AS n')
    await seedFile('schema.sql', 'CREATE TABLE book (n int PRIMARY KEY, text text);\nSELECT broken;\n')
    const failed = await reset('main')
    assert.equal(failed.state, 'failed')
    assert.match(failed.error?.detail ?? '', /The seed db\/schema\.sql .*line 2/)
    assert.deepEqual(await postgres('SELECT n FROM precious'), [{ n: 1 }])
    await seedFile('schema.sql', 'CREATE TABLE book (n int PRIMARY KEY, text text);\n')
  })

  it('killed while a seed is read, it begins anew on an emptied database', async () => {
    const many = Array.from({ length: 20_000 }, (_, n) => `INSERT INTO book VALUES (${n}, 'text');`).join('\n')
    await seedFile('second.sql', `CREATE TABLE book (n int, text text);\n${many}\n`)
    const asked = await called('POST', '/databases/second/reset', { confirm: 'second' }, ifMatch)
    assert.equal(asked.status, 202, JSON.stringify(asked.body))
    const begun = async () => {
      const { items } = await service.client.call('listOperations', { query: { active: true } })
      return items[0]?.steps.find(({ id: step }) => step === 'seed:second')?.state === 'running'
    }
    await waitFor('the seed being read', begun, { timeoutMs: 60_000 })
    await waitFor('some rows', async () => Number((await mariadb('SELECT count(*) AS n FROM book'))[0]?.n) > 0)
    await service.kill()
    await service.start()
    await waitFor(
      'its end',
      async () => {
        const { items } = await service.client.call('listOperations', { query: { active: true } })
        return items.length === 0
      },
      { timeoutMs: 120_000 },
    )
    assert.equal((await mariadb('SELECT count(*) AS n FROM book'))[0]?.n, 20_000)
    assert.deepEqual(await leftFiles(), [])
  })
})
