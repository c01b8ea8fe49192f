import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import type { Problem } from '@stackquay/contract'
import mysql from 'mysql2/promise'
import { callProject } from './support/call-project.ts'
import { type Service, startService } from './support/service.ts'

/**
 * A folder with `mysqld` of MySQL. Debian releases have none; `debootstrap --variant=minbase --include=mysql-server-core sid <folder>` brings one, which
 * `patchelf --set-interpreter … --force-rpath --set-rpath …` lets run with the libraries beside it. Where none is named there are no tests here.
 */
const programs = process.env.TEST_MYSQL
const id = 'shop'
const trace = '/tmp/stackquay-mysql-browser-was-here'

interface Page {
  readonly rows: unknown[][]
  readonly nextCursor: string | null
  readonly previousCursor: string | null
}
interface Result {
  readonly rows: unknown[][]
  readonly affected: number | null
  readonly truncated: string | null
  readonly plan: { label: string; children: unknown[] } | null
}

if (programs !== undefined)
  describe('the database browser on MySQL', { concurrency: 1 }, () => {
    let service: Service
    before(async () => {
      service = await startService({ env: { PATH: `${programs}:${process.env.PATH}` } })
      const body = { name: 'Shop', databases: { main: { type: 'mysql' as const } } }
      const made = await service.client.call('createProject', { body, query: { wait: 170 } })
      assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    })
    after(() => service?.close())

    const sql = async (text: string) => {
      const { url } = (await service.client.call('getDatabaseCredentials', { params: { id, db: 'main' } })) as {
        url: string
      }
      const client = await mysql.createConnection({ uri: url, multipleStatements: true })
      try {
        return (await client.query(text))[0] as readonly Record<string, unknown>[]
      } finally {
        await client.end()
      }
    }
    const called = <Body>(method: string, path: string, body?: object, signal?: AbortSignal) =>
      callProject<Body>(service, id, { method, path, body, signal })
    const query = (text: string, more: object = {}) =>
      called<Result & Problem>('POST', '/databases/main/query', { sql: text, ...more })
    const page = async (table: string, parameters: Record<string, string> = {}) => {
      const answer = await called<Page & Problem>(
        'GET',
        `/databases/main/tables/${table}?${new URLSearchParams(parameters)}`,
      )
      assert.equal(answer.status, 200, answer.text)
      return answer.body
    }

    it('says what there is, and pages by key in any order', { timeout: 120_000 }, async () => {
      await sql(`
        SET SESSION cte_max_recursion_depth = 30000;
        CREATE TABLE author (id int PRIMARY KEY, name text NOT NULL);
        CREATE TABLE book (id bigint PRIMARY KEY AUTO_INCREMENT, author int, title varchar(600) NOT NULL, \`rank\` int NULL, price decimal(12, 2),
          data json, cover blob, at datetime(6), flags bit(4), FOREIGN KEY (author) REFERENCES author (id), KEY book_rank (\`rank\`));
        INSERT INTO author VALUES (1, 'Ada');
        INSERT INTO book WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)
          SELECT n, 1, CONCAT('Title ', n), IF(n % 10 = 0, NULL, n % 7), n + 0.5, '{"a": 1}', X'00ff', '2026-01-02 03:04:05.678901', b'1010' FROM n;
        ANALYZE TABLE book`)
      const { tables } = (await called<{ tables: Record<string, never>[] }>('GET', '/databases/main/schema')).body
      const book = tables.find(({ name }) => name === 'book') as unknown as {
        primaryKey: string[]
        foreignKeys: { references: { table: string } }[]
        indexes: { name: string }[]
      }
      assert.deepEqual([book.primaryKey, book.foreignKeys[0]?.references.table], [['id'], 'author'])
      assert.ok(book.indexes.some(({ name }) => name === 'book_rank'))
      const [first] = (await page('book', { limit: '1' })).rows
      assert.deepEqual(first?.slice(0, 5), ['1', 1, 'Title 1', 1, '1.50'], JSON.stringify(first))
      assert.deepEqual(first?.slice(6, 8), [{ base64: 'AP8=', bytes: 2 }, '2026-01-02 03:04:05.678901'])
      const filter = JSON.stringify([{ column: 'id', operator: 'le', value: '205' }])
      for (const sort of ['', 'rank', '-rank', '-id', 'title']) {
        const parameters = { limit: '50', filter, ...(sort === '' ? {} : { sort }) }
        const pages = [await page('book', parameters)]
        for (let at = pages[0]!; at.nextCursor !== null; pages.push(at))
          at = await page('book', { ...parameters, cursor: at.nextCursor })
        const all = pages.flatMap(({ rows }) => rows.map(([one]) => one))
        assert.deepEqual([all.length, new Set(all).size], [205, 205], sort)
        const last = await page('book', { ...parameters, last: 'true' })
        assert.deepEqual(
          last.rows.map(([one]) => one),
          all.slice(-50),
          sort,
        )
      }
    })

    it('changes rows all or none, and takes CSV', { timeout: 60_000 }, async () => {
      const edit = (changes: object[]) => called<Problem>('PATCH', '/databases/main/tables/book/rows', { changes })
      const update = { act: 'update', old: { id: '1', title: 'Title 1' }, set: { title: "it's \\ new" } }
      assert.equal((await edit([update])).status, 200)
      const late = await edit([{ act: 'insert', set: { id: '900000', title: 'new' } }, update])
      assert.deepEqual([late.status, late.body.code], [412, 'precondition_failed'], late.text)
      assert.deepEqual(await sql('SELECT id FROM book WHERE id = 900000'), [])
      await sql('CREATE TABLE csv (id int PRIMARY KEY, text text, bytes blob)')
      const response = await fetch(`${service.url}/api/v1/projects/${id}/databases/main/tables/csv/import`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.token}`, 'content-type': 'text/csv' },
        body: 'text,id,bytes\r\n"two\nlines",1,\\x00ff\r\n,2,',
      })
      assert.equal(response.status, 200, await response.text())
      assert.deepEqual((await page('csv')).rows, [
        [1, 'two\nlines', { base64: 'AP8=', bytes: 2 }],
        [2, null, null],
      ])
    })

    it('refuses whatever writes', { timeout: 60_000 }, async () => {
      await sql(`
        CREATE TABLE kept (n int); INSERT INTO kept VALUES (1);
        CREATE SQL SECURITY DEFINER VIEW through AS SELECT * FROM kept`)
      // Who makes functions must have more rights where the server logs what it does.
      const made = await sql(
        'CREATE FUNCTION sly() RETURNS int DETERMINISTIC SQL SECURITY DEFINER BEGIN DELETE FROM kept; RETURN 1; END',
      ).then(
        () => true,
        () => false,
      )
      const refused = [
        'DELETE FROM kept',
        'INSERT INTO kept VALUES (9)',
        'DELETE FROM through',
        ...(made ? ['SELECT sly()'] : []),
        'WITH n AS (SELECT 1) DELETE FROM kept',
        'COMMIT; DROP TABLE kept',
        'SET TRANSACTION READ WRITE',
        'SET GLOBAL read_only = OFF',
        'SET PERSIST max_connections = 5',
        `SELECT * FROM kept INTO OUTFILE '${trace}'`,
        `SELECT 'x' INTO DUMPFILE '${trace}'`,
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE kept",
        "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE kept",
        'CREATE TABLE mine (n int)',
        'CREATE TEMPORARY TABLE mine (n int)',
        'DROP TABLE kept',
        'TRUNCATE kept',
        'SELECT * FROM kept FOR UPDATE',
        'GRANT ALL ON *.* TO stackquay_reader',
        'SET ROLE ALL; DELETE FROM kept',
        'EXPLAIN ANALYZE DELETE FROM kept',
        "INSTALL COMPONENT 'file://component_validate_password'",
        'CREATE USER other',
        'SELECT * FROM mysql.user',
        'HANDLER kept OPEN; DELETE FROM kept',
      ]
      for (const text of refused) {
        const answer = await query(text)
        assert.deepEqual([answer.status, answer.body.code], [422, 'query_failed'], `${text}: ${answer.text}`)
      }
      for (const text of [
        "SET PASSWORD = 'x'",
        "/* */ SET PASSWORD = 'x'",
        "SET /*!50000 PASSWORD */ = 'x'",
        "/*!50000 SET PASSWORD = 'x' */",
        'SET PASSWORD TO RANDOM',
        "ALTER USER USER() IDENTIFIED BY 'x'",
        "ALTER USER CURRENT_USER() IDENTIFIED BY 'x'",
        "ALTER USER stackquay_reader@'%' IDENTIFIED BY 'x'",
      ]) {
        const answer = await query(text)
        assert.equal(answer.status, 422, `${text}: ${answer.text}`)
      }
      assert.deepEqual(await sql('SELECT n FROM kept'), [{ n: 1 }])
      assert.equal((await query('SELECT n FROM kept')).status, 200)
      assert.equal(existsSync(trace), false)
      const written = await query('INSERT INTO kept VALUES (2), (3)', { write: true })
      assert.deepEqual([written.status, written.body.affected], [200, 2], written.text)
    })

    it('holds limits of rows and time, cancels, shows plans and exports', { timeout: 90_000 }, async () => {
      const many =
        'WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 900) SELECT a.n FROM n a, n b'
      const cut = await query(many, { maxRows: 10 })
      assert.deepEqual([cut.body.rows?.length, cut.body.truncated], [10, 'rows'], cut.text)
      const begun = Date.now()
      await query('SELECT SLEEP(30)', { timeLimit: 1 })
      assert.ok(Date.now() - begun < 10_000, `${Date.now() - begun} ms`)
      await assert.rejects(
        called('POST', '/databases/main/query', { sql: 'SELECT SLEEP(30)' }, AbortSignal.timeout(500)),
      )
      for (const explain of ['plan', 'analyze']) {
        const answer = await query('SELECT * FROM book WHERE id < 50 ORDER BY title', { explain })
        assert.ok(JSON.stringify(answer.body.plan?.children ?? null).includes('book'), `${explain}: ${answer.text}`)
      }
      const json = await called<object[]>('POST', '/databases/main/query/export', {
        sql: 'SELECT id, title FROM book WHERE id IN (4, 5) ORDER BY id;',
        format: 'json',
      })
      assert.deepEqual(json.body, [
        { id: '4', title: 'Title 4' },
        { id: '5', title: 'Title 5' },
      ])
    })
  })
