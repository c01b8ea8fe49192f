import assert from 'node:assert/strict'
import { existsSync, globSync } from 'node:fs'
import { dirname } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { type DatabaseInput, databaseTypeOf } from '@stackquay/catalog'
import { waitFor } from '@stackquay/testkit'
import { Client } from 'pg'
import { type Backups, backups, begin } from './support/backups.ts'
import { dumpsOf } from './support/dumps.ts'
import { postgresqlIn } from './support/postgresql-programs.ts'
import type { Machine } from './support/run-workload.ts'
import { nativeStage, type Stage, type Started } from './support/stage.ts'

const kind = databaseTypeOf('postgresql')!
const name = 'postgresql-main'
const directory = globSync('/usr/lib/postgresql/*/bin/postgres').map(dirname).at(-1)!
assert.ok(directory, 'Install PostgreSQL: apt-get install -y postgresql')
const password = 'old $ecret'

describe('Dumps of a PostgreSQL', { concurrency: 1 }, () => {
  let stage: Stage
  let machine: Machine
  let input: DatabaseInput
  let running: Started
  let programs: Backups
  let dumps: ReturnType<typeof dumpsOf>

  before(async () => {
    programs = backups()
    stage = nativeStage(kind, postgresqlIn(directory))
    machine = stage.project(name, { password })
    input = await stage.database({ username: 'main', ourProgram: programs.ourProgram })
    const spec = kind.toWorkload(input)
    for (const job of spec.setup) {
      const { code, output } = await stage.runJob(job, machine)
      assert.equal(code, 0, output)
    }
    running = await stage.start(spec, machine)
    await running.ready()
    dumps = dumpsOf(kind.dump!, input, machine)
    await ask('main', 'CREATE DATABASE other')
    await ask(
      'other',
      "CREATE TABLE precious AS SELECT n, md5(n::text) FROM generate_series(1, 1000) n; COMMENT ON DATABASE other IS 'x'",
    )
    await ask('main', "CREATE ROLE alice LOGIN PASSWORD 'x'")
  })

  after(async () => {
    await running?.stop()
    await stage.close()
    programs.close()
  })

  async function ask(database: string, sql: string): Promise<readonly Record<string, unknown>[]> {
    const client = new Client({ host: '127.0.0.1', port: input.hostPort, user: 'main', password, database })
    await client.connect()
    try {
      const answer = await client.query(sql)
      return Array.isArray(answer) ? answer.at(-1).rows : answer.rows
    } finally {
      await client.end()
    }
  }

  /** Everything but the database that dumps come into: databases, roles with their rights and passwords, what is in the other one. */
  async function elsewhere(): Promise<unknown> {
    return [
      await ask(
        'other',
        "SELECT oid, datname, datdba, datacl, datallowconn FROM pg_database WHERE datname <> 'main' ORDER BY 1",
      ),
      await ask('other', 'SELECT * FROM pg_authid ORDER BY oid'),
      await ask('other', 'SELECT * FROM pg_auth_members ORDER BY 1, 2'),
      await ask('other', 'SELECT * FROM pg_db_role_setting'),
      await ask('other', 'SELECT xmin, ctid, * FROM precious ORDER BY n'),
      await ask('other', 'SELECT oid, relname, relowner, relacl FROM pg_class WHERE oid >= 16384 ORDER BY 1'),
    ]
  }

  test('come back the same into a database with something else in it, which is gone then', async () => {
    assert.deepEqual(await dumps.look(), { isEmpty: true })
    await ask('main', filling)
    assert.deepEqual(await dumps.look(), { isEmpty: false })
    const counted = await programs.contents(kind.backup!.contents!(input)!, machine)
    for (const format of ['sql', 'custom']) {
      const dump = await (format === 'sql' ? dumps.write() : bytesOf(format))
      await ask('main', "DROP TABLE numbers; CREATE TABLE others (n int); INSERT INTO shelf.book VALUES (9, 'x')")
      if (format === 'sql') assert.deepEqual(await dumps.load(dump, 'replace'), [])
      else await dumps.loadRaw(dump, 'replace', { format })
      assert.deepEqual(await programs.contents(kind.backup!.contents!(input)!, machine), counted)
    }
    const owners = await ask(
      'main',
      'SELECT DISTINCT pg_get_userbyid(relowner) AS owner FROM pg_class WHERE oid >= 16384',
    )
    assert.deepEqual(owners, [{ owner: 'main' }])
    assert.deepEqual(await ask('main', "SELECT rolname FROM pg_roles WHERE rolname LIKE 'stackquay%'"), [])
    assert.deepEqual(await ask('main', "SELECT datname FROM pg_database WHERE datname LIKE 'stackquay%'"), [])
  })

  test('that name other databases, roles and files come in without those, and it is told', async () => {
    const before = await elsewhere()
    const notes = await dumps.load(foreign, 'replace')
    assert.deepEqual(
      notes.map(({ kind, text, count, lines }) => [kind, text, count, lines]),
      [
        ['database', '\\connect other', 2, [5, 12]],
        ['database', 'DROP DATABASE other', 1, [6]],
        ['database', 'CREATE DATABASE shop', 1, [7]],
        ['owner', 'OWNER TO nobody', 1, [9]],
        ['owner', 'GRANT ... TO alice', 1, [10]],
        ['role', 'SET SESSION AUTHORIZATION alice', 1, [11]],
        ['role', 'DROP ROLE alice', 1, [13]],
        ['client', '\\! touch /tmp/stackquay-dump-was-here', 1, [14]],
        ['client', '\\i /etc/passwd', 1, [15]],
        ['client', "\\copy t from program 'id'", 1, [16]],
        ['file', "COPY t FROM PROGRAM 'id'", 1, [17]],
      ],
    )
    assert.deepEqual(await ask('main', 'SELECT * FROM t'), [{ a: 'in' }])
    assert.deepEqual(await elsewhere(), before)
    assert.deepEqual(existsSync('/tmp/stackquay-dump-was-here'), false)
  })

  test('reach nothing else when nothing is left out of them either, and a failure leaves the database as it was', async () => {
    const state = async () => [await elsewhere(), await programs.contents(kind.backup!.contents!(input)!, machine)]
    const before = await state()
    for (const mode of ['replace', 'append'] as const) {
      for (const hostile of mode === 'append' ? hostileLines : hostileLines.slice(0, 3)) {
        await assert.rejects(
          dumps.loadRaw(`CREATE TABLE made (n int);\nINSERT INTO made VALUES (1);\n${hostile}\n`, mode),
          /It ended with/,
          `${mode}: ${hostile}`,
        )
      }
      await assert.rejects(dumps.loadRaw('CREATE TABLE made (n int);\n', mode, { ending: '' }), /restricted/)
      assert.deepEqual(await state(), before, mode)
    }
    assert.equal(existsSync('/tmp/stackquay-dump-was-here'), false)
  })

  test('that are cut off by a kill leave nothing once that is cleared', async () => {
    const before = [await elsewhere(), await programs.contents(kind.backup!.contents!(input)!, machine)]
    for (const mode of ['replace', 'append'] as const) {
      const load = await begin(kind.dump!.load(input, { format: 'sql', mode, key: 'k' }), machine, true)
      load.succeeded().catch(() => {})
      load.child.stdin!.on('error', () => {}).write('CREATE TABLE made (n int);\nSELECT pg_sleep(60);\n')
      await waitFor('it to be read', async () => {
        const rows = await ask(
          'other',
          "SELECT FROM pg_stat_activity WHERE usename = 'stackquay-import' AND query LIKE '%pg_sleep%'",
        )
        return rows.length > 0
      })
      process.kill(-load.child.pid!, 'SIGKILL')
      await dumps.clean()
      assert.deepEqual([await elsewhere(), await programs.contents(kind.backup!.contents!(input)!, machine)], before)
    }
  })

  test('come to what is there as one transaction, and what they make belongs to the user of the database', async () => {
    await dumps.load('CREATE TABLE t (a text); CREATE TABLE u (a text UNIQUE);', 'replace')
    const notes = await dumps.load(
      "BEGIN; INSERT INTO t VALUES ('more'); COMMIT; CREATE SCHEMA new CREATE TABLE made (a text REFERENCES u (a));",
      'append',
    )
    assert.deepEqual(
      notes.map(({ text }) => text),
      ['BEGIN', 'COMMIT'],
    )
    assert.deepEqual(await ask('main', 'SELECT * FROM t'), [{ a: 'more' }])
    const owners = await ask(
      'main',
      'SELECT DISTINCT pg_get_userbyid(relowner) AS owner FROM pg_class WHERE oid >= 16384',
    )
    assert.deepEqual(owners, [{ owner: 'main' }])
    await assert.rejects(dumps.load('DROP TABLE t;', 'append'), /must be owner of table t/)
    await assert.rejects(dumps.load('ROLLBACK;', 'append'), /Line 1 ends or divides a transaction/)
  })

  test('bring no expression that the server would run with the rights of a superuser', async () => {
    await dumps.load(
      `CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1';
      CREATE TABLE plain (n int); CREATE TABLE trapped (n int); CREATE INDEX ON trapped (f(n)); CREATE INDEX ON plain (abs(n));
      CREATE TABLE counted (n int); CREATE STATISTICS s ON (n + 1), n FROM counted;
      CREATE FUNCTION d(int, int) RETURNS float8 IMMUTABLE LANGUAGE sql AS 'SELECT 1.0::float8';
      CREATE TYPE span AS RANGE (SUBTYPE = int, SUBTYPE_DIFF = d); CREATE TABLE spans (s span);`,
      'replace',
    )
    const owners = await ask(
      'main',
      "SELECT relname, pg_get_userbyid(relowner) AS owner FROM pg_class WHERE oid >= 16384 AND relkind = 'r' ORDER BY 1",
    )
    assert.deepEqual(
      owners.map(({ relname, owner }) => `${relname} ${owner}`),
      ['counted stackquay-imported', 'plain main', 'spans stackquay-imported', 'trapped stackquay-imported'],
    )
    await dumps.load('CREATE TABLE t (a text);', 'replace')
  })

  test('are refused where a client program is missing, with its name', async () => {
    const newer = { ...input, toolchain: { ...input.toolchain, version: '99.1' } }
    await assert.rejects(
      dumps.run(kind.dump!.write(newer, 'sql')),
      /It ended with 69: The program pg_dump of PostgreSQL 99 or newer/,
    )
  })

  async function bytesOf(format: string): Promise<Buffer> {
    const written = await begin(kind.dump!.write(input, format), machine)
    const [bytes] = await Promise.all([buffer(written.child.stdout!), written.succeeded()])
    return bytes
  }
})

const filling = `
CREATE TABLE numbers (n int PRIMARY KEY, text text);
INSERT INTO numbers SELECT n, repeat(md5(n::text), 5) FROM generate_series(1, 5000) n;
CREATE SCHEMA shelf;
CREATE TYPE shelf.size AS ENUM ('small', 'large');
CREATE TABLE shelf.book (id serial PRIMARY KEY, title text);
INSERT INTO shelf.book (title) VALUES ('it''s; a \\ "title"'), (E'two\\nlines\\n\\\\.\\n');
CREATE INDEX ON shelf.book (lower(title));
CREATE INDEX ON shelf.book USING gin (to_tsvector('english', title));
CREATE VIEW books AS SELECT * FROM shelf.book;
CREATE FUNCTION one() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 2 END; END;
CREATE EXTENSION pg_trgm;
`

const foreign = String.raw`--
-- PostgreSQL database dump
--
SET transaction_timeout = 0;
\connect other
DROP DATABASE other;
CREATE DATABASE shop WITH TEMPLATE = template0;
CREATE TABLE public.t (a text);
ALTER TABLE public.t OWNER TO nobody;
GRANT ALL ON TABLE public.t TO alice;
SET SESSION AUTHORIZATION alice;
\connect other
DROP ROLE alice;
\! touch /tmp/stackquay-dump-was-here
\i /etc/passwd
\copy t from program 'id'
COPY t FROM PROGRAM 'id';
COPY public.t (a) FROM stdin;
in
\.
--
-- PostgreSQL database dump complete
--
`

const hostileLines = [
  '\\! touch /tmp/stackquay-dump-was-here',
  '\\connect other',
  '\\unrestrict wrong',
  "\\copy made from program 'touch /tmp/stackquay-dump-was-here'",
  'SELECT 1 \\g |touch /tmp/stackquay-dump-was-here',
  'DROP DATABASE other;',
  'ALTER DATABASE other RENAME TO gone;',
  'DROP ROLE alice;',
  "ALTER ROLE main PASSWORD 'taken';",
  'SET SESSION AUTHORIZATION main;',
  'RESET SESSION AUTHORIZATION; CREATE ROLE evil SUPERUSER;',
  'GRANT main TO "stackquay-import";',
  "UPDATE pg_authid SET rolsuper = true WHERE rolname = 'stackquay-import';",
  "COPY made TO PROGRAM 'touch /tmp/stackquay-dump-was-here';",
  "COPY made TO '/tmp/stackquay-dump-was-here';",
  "SELECT lo_export(lo_from_bytea(0, 'x'), '/tmp/stackquay-dump-was-here');",
  "SELECT pg_read_file('/etc/passwd');",
  'CREATE EXTENSION dblink;',
  "ALTER SYSTEM SET archive_command = 'x';",
  'REASSIGN OWNED BY main TO "stackquay-import";',
  'CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f();',
]
