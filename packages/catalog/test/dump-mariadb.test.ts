import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { type DatabaseInput, databaseTypeOf } from '@stackquay/catalog'
import { createConnection } from 'mysql2/promise'
import { type Backups, backups } from './support/backups.ts'
import { dumpsOf } from './support/dumps.ts'
import type { Machine } from './support/run-workload.ts'
import { nativeStage, type Stage, type Started } from './support/stage.ts'

const kind = databaseTypeOf('mariadb')!
const name = 'mariadb-main'
const program = '/usr/sbin/mariadbd'
const printed = spawnSync(program, ['--no-defaults', '--version'], { encoding: 'utf8' }).stdout ?? ''
const version = new RegExp(kind.toolchain.versionPattern).exec(printed)?.[1]
assert.ok(version, 'Install MariaDB: apt-get install -y mariadb-server')
const password = `old "$ecret' é`
const trace = '/tmp/stackquay-mariadb-dump-was-here'

describe('Dumps of a MariaDB', { concurrency: 1 }, () => {
  let stage: Stage
  let programs: Backups
  let machine: Machine
  let input: DatabaseInput
  let running: Started
  let dumps: ReturnType<typeof dumpsOf>

  before(async () => {
    programs = backups()
    stage = nativeStage(kind, { version: version!, program, directory: '/usr/sbin' })
    machine = stage.project(name, { password })
    input = await stage.database({ name, database: 'main', username: 'main' })
    const spec = kind.toWorkload(input)
    for (const job of spec.setup) {
      const { code, output } = await stage.runJob(job, machine)
      assert.equal(code, 0, output)
    }
    // The administrator cannot log in, so another database is made as the server makes this one.
    const argv = spec.run.argv.map((word) =>
      word.includes('set -eu') ? word.replace('ALTER USER IF', `${otherSql}\nALTER USER IF`) : word,
    )
    running = await stage.start(
      { ...spec, run: { ...spec.run, argv: argv as unknown as typeof spec.run.argv } },
      machine,
    )
    await running.ready()
    dumps = dumpsOf(kind.dump!, input, machine)
  })

  after(async () => {
    await running?.stop()
    await stage.close()
    programs.close()
  })

  async function ask(sql: string, user = 'main'): Promise<readonly Record<string, unknown>[]> {
    const client = await createConnection({
      ...{ host: '127.0.0.1', port: input.hostPort, user, multipleStatements: true },
      password: user === 'main' ? password : 'watch',
      database: user === 'main' ? 'main' : 'other',
    })
    try {
      const [rows] = await client.query(sql)
      return rows as Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }

  const elsewhere = async () => [
    await ask('SELECT * FROM precious ORDER BY id', 'watcher'),
    await ask('CHECKSUM TABLE precious', 'watcher'),
    await ask('SELECT * FROM mysql.global_priv ORDER BY 1, 2', 'watcher'),
    await ask("SELECT schema_name FROM information_schema.schemata WHERE schema_name <> 'main' ORDER BY 1", 'watcher'),
    await ask(
      "SELECT table_schema, table_name, create_time FROM information_schema.tables WHERE table_schema NOT IN ('main', 'information_schema', 'performance_schema') ORDER BY 1, 2",
      'watcher',
    ),
  ]

  test('come back the same into a database with something else in it, which is gone then', async () => {
    assert.deepEqual(await dumps.look(), { isEmpty: true })
    for (const statement of filling) await ask(statement)
    assert.deepEqual(await dumps.look(), { isEmpty: false })
    const counted = await programs.contents(kind.backup!.contents!(input)!, machine)
    const dump = await dumps.write()
    await ask('DROP TABLE note; CREATE TABLE others (n int)')
    const notes = await dumps.load(dump, 'replace')
    assert.deepEqual(
      notes.map(({ text, count }) => [text, count]),
      [['DEFINER=main@%', 3]],
    )
    assert.deepEqual(await programs.contents(kind.backup!.contents!(input)!, machine), counted)
  })

  test('that name other databases, accounts and files come in without those, and it is told', async () => {
    const before = await elsewhere()
    const notes = await dumps.load(foreign, 'replace')
    assert.deepEqual(
      notes.map(({ kind: what, text, count, lines }) => [what, text, count, lines]),
      [
        ['database', 'DROP DATABASE other', 1, [4]],
        ['database', 'CREATE DATABASE other', 1, [5]],
        ['database', 'USE `other`', 1, [6]],
        ['server', 'SET @@GLOBAL.GTID_PURGED', 1, [7]],
        ['server', 'SET @@SESSION.SQL_LOG_BIN', 1, [8]],
        ['owner', 'DEFINER=root@localhost', 1, [10]],
        ['role', "GRANT ALL PRIVILEGES ON *.* TO 'x'@'%'", 1, [11]],
        ['role', 'DROP USER watcher', 1, [12]],
        ['client', `\\! touch ${trace}`, 1, [13]],
        ['client', `system touch ${trace}`, 1, [14]],
        ['file', "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t", 1, [16]],
      ],
    )
    assert.deepEqual(await ask('SELECT * FROM v'), [{ a: 'in; USE other;' }])
    assert.deepEqual(await elsewhere(), before)
    assert.equal(existsSync(trace), false)
    await assert.rejects(dumps.load('USE a; USE b;', 'append'), /several databases: a, b/)
  })

  test('reach nothing else when nothing is left out of them either', async () => {
    const before = await elsewhere()
    for (const hostile of hostileLines)
      await assert.rejects(dumps.loadRaw(`${hostile}\n`, 'append', { ending: '' }), /It ended with/, hostile)
    assert.deepEqual(await elsewhere(), before)
    assert.equal(existsSync(trace), false)
    await dumps.clean(true)
    assert.deepEqual(await dumps.look(), { isEmpty: true })
  })
})

const otherSql = `CREATE DATABASE other;
CREATE TABLE other.precious (id int PRIMARY KEY, text text);
INSERT INTO other.precious VALUES (1, 'one'), (2, 'two');
CREATE USER watcher@'%' IDENTIFIED BY 'watch';
GRANT SELECT ON *.* TO watcher@'%';`

const filling = [
  'CREATE TABLE note (id int PRIMARY KEY, text text, bytes blob)',
  `INSERT INTO note SELECT seq, REPEAT(MD5(seq), 10), UNHEX(MD5(seq)) FROM seq_1_to_500`,
  `INSERT INTO note VALUES (1000, 'it''s \\\\ "x"; USE other; \\n-- ', NULL)`,
  'CREATE VIEW notes AS SELECT id, text FROM note',
  'CREATE TRIGGER before_note BEFORE INSERT ON note FOR EACH ROW BEGIN SET @x = 1; SET @y = 2; END',
  'CREATE FUNCTION one() RETURNS int RETURN 1',
]

const foreign = String.raw`/*M!999999\- enable the sandbox mode */ 
-- MariaDB dump 10.19
--
/*!40000 DROP DATABASE IF EXISTS ${'`other`'}*/;
CREATE DATABASE /*!32312 IF NOT EXISTS*/ ${'`other`'} /*!40100 DEFAULT CHARACTER SET utf8mb4 */;
USE ${'`other`'};
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a-b:1-5';
SET @@SESSION.SQL_LOG_BIN= 0;
CREATE TABLE t (a text); INSERT INTO t VALUES ('in; USE other;');
CREATE DEFINER=${'`root`@`localhost`'} VIEW v AS SELECT * FROM t;
GRANT ALL PRIVILEGES ON *.* TO 'x'@'%';
DROP USER watcher;
\! touch ${trace}
system touch ${trace}
;
LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t;
-- Dump completed on 2026-01-01
`

const hostileLines = [
  `\\! touch ${trace}`,
  `system touch ${trace}`,
  'source /etc/passwd',
  `\\. /etc/passwd`,
  'USE other;',
  'DROP DATABASE other;',
  'CREATE DATABASE evil;',
  'DELETE FROM other.precious;',
  'SELECT * FROM other.precious;',
  "UPDATE mysql.global_priv SET priv = '{}';",
  'DROP USER watcher;',
  "CREATE USER evil IDENTIFIED BY 'x';",
  "GRANT ALL ON *.* TO main@'%';",
  'SET GLOBAL general_log = 1;',
  `SELECT 1 INTO OUTFILE '${trace}';`,
  "SELECT LOAD_FILE('/etc/passwd') IS NULL INTO @x; SIGNAL SQLSTATE '45000';",
  "CREATE TABLE f (t text); LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE f;",
  "CREATE DEFINER=watcher@'%' PROCEDURE p() SELECT 1;",
]
