import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Backup, DatabaseImport, OperationRecord, Problem } from '@stackquay/contract'
import { waitFor } from '@stackquay/testkit'
import mysql from 'mysql2/promise'
import { Client } from 'pg'
import { type Service, startService } from './support/service.ts'

const id = 'shop'
const stqFile = fileURLToPath(new URL('../apps/cli/bin/stq', import.meta.url))

/** Dumps out of real databases and into them. What keeps a hostile one in its place is shown in packages/catalog/test/dump-*.test.ts. */
describe('exports and imports of real databases', { concurrency: 1 }, () => {
  let service: Service

  before(async () => {
    service = await startService()
    const databases = { main: { type: 'postgresql', version: '15' }, second: { type: 'mariadb' } }
    const made = await service.client.call('createProject', { body: { name: 'Shop', databases }, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    await postgres('CREATE DATABASE other')
    await postgres('CREATE TABLE precious AS SELECT n, md5(n::text) FROM generate_series(1, 1000) n', 'other')
    await postgres('CREATE TABLE book AS SELECT n, repeat(md5(n::text), 20) AS text FROM generate_series(1, 40000) n')
    await mariadb('CREATE TABLE book (n int PRIMARY KEY, text text)')
    await mariadb("INSERT INTO book VALUES (1, 'one'), (2, 'it''s two; USE other;')")
  })
  after(() => service?.close())

  const urlOf = async (db: string) => {
    const credentials = await service.client.call('getDatabaseCredentials', { params: { id, db } })
    return (credentials as { url: string }).url
  }
  const postgres = async (sql: string, database = 'main') => {
    const url = new URL(await urlOf('main'))
    url.pathname = `/${database}`
    const client = new Client(url.href)
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
  const exported = (db: string, query = '', signal?: AbortSignal) =>
    fetch(`${service.url}/api/v1/projects/${id}/databases/${db}/export${query}`, {
      headers: { authorization: `Bearer ${service.token}` },
      ...(signal === undefined ? {} : { signal }),
    })
  const dumpOf = async (db: string, query = '') => {
    const response = await exported(db, query)
    assert.equal(response.status, 200, await (response.ok ? '' : response.text()))
    return Buffer.from(await response.arrayBuffer())
  }
  const importing = async <Body = DatabaseImport>(
    db: string,
    query: string,
    body: Buffer | string,
    token = service.token,
  ) => {
    const response = await fetch(`${service.url}/api/v1/projects/${id}/databases/${db}/import?wait=100${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
      body: new Uint8Array(Buffer.from(body)),
    })
    return { status: response.status, body: (await response.json()) as Body }
  }
  const imported = async (db: string, query: string, body: Buffer | string) => {
    const answer = await importing(db, query, body)
    const { operation } = answer.body
    assert.equal(operation?.state, 'succeeded', JSON.stringify(answer.body))
    return answer.body
  }
  const failed = async (db: string, query: string, body: Buffer | string) => {
    const { operation } = (await importing(db, query, body)).body
    assert.equal(operation?.state, 'failed', JSON.stringify(operation))
    return operation.error as Problem
  }
  const books = async () =>
    (await postgres("SELECT count(*)::int AS n, md5(string_agg(text, '' ORDER BY n)) AS text FROM book"))[0]
  const backups = async () => (await service.client.call('listBackups', { params: { id } })).items as Backup[]
  const leftFiles = () => readdir(join(service.home, 'dumps'))

  it('come back the same, packed or not, and what was there is backed up first', async () => {
    const before = await books()
    const dump = await dumpOf('main', '?compress=zstd')
    assert.equal(dump.toString('hex', 0, 4), '28b52ffd')
    await postgres('TRUNCATE book; CREATE TABLE something_else (n int)')
    const replaced = await imported('main', '&mode=replace&confirm=main', dump)
    assert.deepEqual([replaced.notes, replaced.dump.bytes], [[], dump.length])
    assert.deepEqual(await books(), before)
    assert.deepEqual(await postgres("SELECT FROM pg_class WHERE relname = 'something_else'"), [])
    const kept = (await backups()).find((one) => one.id === replaced.backup)
    assert.deepEqual(
      [kept?.source, kept?.parts.map((part) => part.id)],
      ['before-import', ['settings', 'database:main']],
    )

    const second = await dumpOf('second')
    await mariadb('DROP TABLE book')
    const { backup, operation } = await imported('second', '', second)
    assert.equal(backup, null)
    assert.deepEqual(
      operation.steps.map(({ id: step }) => step),
      ['import'],
    )
    assert.equal((await mariadb('SELECT * FROM book')).length, 2)
    assert.deepEqual(await leftFiles(), [])
    assert.equal((await exported('main', '?check=true')).status, 204)
    const refused = await exported('second', '?check=true&format=custom')
    assert.deepEqual([refused.status, ((await refused.json()) as Problem).code], [422, 'engine_cannot'])
  })

  it('go through the command line as streams', async () => {
    const stq = (...args: string[]) =>
      spawn(process.execPath, [stqFile, 'db', ...args], {
        env: { ...process.env, STACKQUAY_URL: service.url, STACKQUAY_TOKEN: service.token },
        stdio: ['pipe', 'pipe', 'inherit'],
      })
    const out = stq('export', id, 'second', '--compress', 'gzip')
    const into = stq('import', id, 'second', '--replace', '--confirm', 'second', '--quiet')
    out.stdout.pipe(into.stdin)
    const codes = await Promise.all([out, into].map(async (child) => (await once(child, 'close'))[0]))
    assert.deepEqual(codes, [0, 0])
    assert.equal((await mariadb('SELECT * FROM book')).length, 2)
  })

  it('a dump that names another database comes into its own, and the other one stays as it is', async () => {
    const others = async () => [
      await postgres('SELECT xmin::text, ctid::text, * FROM precious ORDER BY n', 'other'),
      await postgres("SELECT oid, datname, datdba, datacl FROM pg_database WHERE datname <> 'main' ORDER BY 1"),
      await postgres('SELECT * FROM pg_authid ORDER BY oid'),
    ]
    const before = await others()
    const { notes } = await imported(
      'main',
      '&mode=replace&confirm=main',
      gzipSync(
        '\\connect other\nDROP DATABASE other;\nDROP TABLE IF EXISTS precious;\nCREATE TABLE book (n int, text text);\n\\! id\nALTER TABLE book OWNER TO production;\n',
      ),
    )
    assert.deepEqual(
      notes.map(({ text, lines }) => `${text} ${lines}`),
      ['\\connect other 1', 'DROP DATABASE other 2', '\\! id 5', 'OWNER TO production 6'],
    )
    assert.deepEqual(await others(), before)
    const answer = await imported(
      'second',
      '&mode=append',
      'USE other;\nDROP DATABASE other;\nCREATE TABLE added (n int);\n',
    )
    assert.deepEqual(
      answer.notes.map(({ text, lines }) => `${text} ${lines}`),
      ['USE other 1', 'DROP DATABASE other 2'],
    )
    assert.equal((await mariadb('SELECT * FROM book')).length, 2)
    await mariadb('DROP TABLE added')
  })

  it('what cannot come in changes nothing, and says why', async () => {
    const code = async (db: string, query: string, body: Buffer | string, token?: string) => {
      const { status, body: problem } = await importing<Problem>(db, query, body, token)
      return [status, problem.code, problem.errors?.[0]?.pointer ?? '']
    }
    const rows = 'CREATE TABLE more (n int); INSERT INTO more VALUES (1);'
    assert.deepEqual(await code('main', '', rows), [422, 'validation_failed', '?mode'])
    assert.deepEqual(await code('main', '&mode=replace', rows), [422, 'validation_failed', '?confirm'])
    const operator = await service.newToken('operate')
    assert.deepEqual(await code('main', '&mode=replace&confirm=main', rows, operator), [403, 'scope_insufficient', ''])
    const packed = gzipSync(rows.repeat(10_000))
    assert.deepEqual(await code('main', '&mode=append', packed.subarray(0, packed.length - 20)), [
      422,
      'dump_unreadable',
      '',
    ])
    assert.deepEqual(await code('main', '&mode=append', "INSERT INTO more VALUES ('x"), [422, 'dump_unreadable', ''])
    assert.deepEqual(await code('main', '&mode=append', 'BZh91AY'), [422, 'dump_unreadable', ''])
    assert.deepEqual(await code('main', '&mode=append', ''), [422, 'dump_unreadable', ''])
    const plan = await importing<{ plan: { warnings: string[] } }>(
      'main',
      '&mode=replace&dryRun=true',
      'DROP DATABASE x;',
    )
    assert.deepEqual(plan.body.plan.warnings, ['DROP DATABASE x (line 1) is left out.'])
    const before = (await backups()).length

    for (const query of ['&mode=append', '&mode=replace&confirm=main']) {
      const error = await failed('main', query, `${rows}\nSELECT 1;\nSELECT nothing;\n`)
      assert.match(error.detail, /line 3: ERROR: +column "nothing" does not exist/)
    }
    assert.deepEqual(await postgres("SELECT FROM pg_class WHERE relname = 'more'"), [])
    assert.deepEqual(await postgres("SELECT datname FROM pg_database WHERE datname LIKE 'stackquay%'"), [])
    const error = await failed('second', '&mode=append', 'DROP TABLE book;\nINSERT INTO other.x VALUES (1);\n')
    assert.match(error.detail, /ERROR 1142 .* at line 2: INSERT command denied/)
    assert.equal((await mariadb('SELECT * FROM book')).length, 2)
    assert.equal((await backups()).length, before)
    assert.deepEqual(await leftFiles(), [])
  })

  it('an import that is cancelled leaves the database as it was', async () => {
    const { client } = service
    const answer = await fetch(`${service.url}/api/v1/projects/${id}/databases/main/import?mode=append`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/sql' },
      body: 'CREATE TABLE more (n int); SELECT pg_sleep(100);',
    })
    const { operation } = (await answer.json()) as DatabaseImport
    const sleeps = async () =>
      (await postgres("SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(100)%' AND pid <> pg_backend_pid()"))
        .length
    await waitFor('the dump to come in', async () => (await sleeps()) > 0)
    await client.call('cancelOperation', { params: { op: operation.id } })
    const ended = (await client.call('getOperation', {
      params: { op: operation.id },
      query: { wait: 60 },
    })) as OperationRecord
    assert.equal(ended.state, 'cancelled')
    assert.equal(await sleeps(), 0)
    assert.deepEqual(await postgres("SELECT FROM pg_class WHERE relname = 'more'"), [])
    assert.deepEqual(await postgres("SELECT FROM pg_roles WHERE rolname LIKE 'stackquay%'"), [])
  })

  it('an import goes on after the service was killed', async () => {
    const rows = Array.from({ length: 50_000 }, (_, n) => `${n}\tx`).join('\n')
    const answer = await fetch(`${service.url}/api/v1/projects/${id}/databases/main/import?mode=replace&confirm=main`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/sql' },
      body: `CREATE TABLE book (n int, text text);\nCOPY book FROM stdin;\n${rows}\n\\.\nSELECT pg_sleep(3);\n`,
    })
    const { operation } = (await answer.json()) as DatabaseImport
    await waitFor(
      'the dump to come in',
      async () => (await postgres("SELECT FROM pg_stat_activity WHERE usename = 'stackquay-import'")).length > 0,
    )
    await service.kill()
    await service.start()
    const ended = (await service.client.call('getOperation', {
      params: { op: operation.id },
      query: { wait: 100 },
    })) as OperationRecord
    assert.equal(ended.state, 'succeeded', JSON.stringify(ended.error))
    assert.equal((await books())?.n, 50_000)
    assert.deepEqual(await leftFiles(), [])
  })

  it('an export ends with who asked for it, and one that breaks off is no whole answer', async () => {
    await postgres('CREATE TABLE large AS SELECT n, repeat(md5(n::text), 100) AS text FROM generate_series(1, 30000) n')
    const dumping = async () =>
      (await postgres("SELECT FROM pg_stat_activity WHERE application_name = 'pg_dump'")).length
    const gone = new AbortController()
    const left = await exported('main', '', gone.signal)
    assert.equal(await dumping(), 1)
    gone.abort()
    await assert.rejects(left.arrayBuffer())
    await waitFor('the export to end', async () => (await dumping()) === 0)

    const broken = await exported('main')
    await postgres("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'pg_dump'")
    await assert.rejects(broken.arrayBuffer())
  })
})
