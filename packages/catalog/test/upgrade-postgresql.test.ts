import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type DatabaseInput, databaseTypeOf, type UpgradeAnew } from '@stackquay/catalog'
import { Client } from 'pg'
import { embeddedPostgresql, postgresqlIn } from './support/postgresql-programs.ts'
import type { Machine } from './support/run-workload.ts'
import { nativeStage, type Stage, type Started } from './support/stage.ts'
import { killAfter, upgradesOf } from './support/upgrades.ts'

const kind = databaseTypeOf('postgresql')!
const method = kind.upgrade as UpgradeAnew<DatabaseInput>
const name = 'postgresql-main'
const earlier = '/usr/lib/postgresql/15/bin'
assert.ok(existsSync(join(earlier, 'pg_dump')), 'Install PostgreSQL 15: apt-get install -y postgresql-15')
const password = 'old $ecret'

describe('The upgrade of a PostgreSQL from 15 to 18', { concurrency: 1 }, () => {
  const embedded = embeddedPostgresql()
  let stage: Stage
  let later: Stage
  let machine: Machine
  let pair: { readonly old: DatabaseInput; readonly next: DatabaseInput }
  let upgrades: ReturnType<typeof upgradesOf>

  before(async () => {
    stage = nativeStage(kind, postgresqlIn(earlier))
    later = nativeStage(kind, postgresqlIn(embedded.directory))
    machine = stage.project(name, { password })
    const old = await stage.database({ username: 'main' })
    const next = await later.database({ username: 'main', hostPort: old.hostPort, listen: old.listen })
    pair = { old, next }
    upgrades = upgradesOf(method, pair, machine)
    await withServer(pair.old, stage, async (ask) => {
      for (const [database, sql] of filling) await ask(database, sql)
    })
  })

  after(async () => {
    await Promise.all([stage.close(), later.close()])
    embedded.remove()
  })

  type Ask = (database: string, sql: string, as?: { user: string; password: string }) => Promise<readonly Row[]>
  type Row = Record<string, unknown>

  async function withServer(input: DatabaseInput, on: Stage, act: (ask: Ask) => Promise<void>): Promise<void> {
    const spec = kind.toWorkload(input)
    for (const job of spec.setup) {
      const { code, output } = await on.runJob(job, machine)
      assert.equal(code, 0, output)
    }
    const running: Started = await on.start(spec, machine)
    try {
      await running.ready()
      await act(async (database, sql, as = { user: 'main', password }) => {
        const client = new Client({ host: '127.0.0.1', port: input.hostPort, database, ...as })
        await client.connect()
        try {
          const answer = await client.query(sql)
          return Array.isArray(answer) ? answer.at(-1).rows : answer.rows
        } finally {
          await client.end()
        }
      })
    } finally {
      await running.stop()
    }
  }

  const dataPath = (file: string) => join(machine.data[name]!, file)

  test('the programs of the machine are found', async () => {
    await upgrades.run(method.check(pair))
  })

  test('names what would be lost before anything is carried over', async () => {
    await withServer(pair.old, stage, async (ask) => {
      await ask('main', 'CREATE DATABASE closed ALLOW_CONNECTIONS false')
      await ask('main', "SELECT pg_create_physical_replication_slot('standby', true)")
    })
    const { blockers, names } = await upgrades.look()
    assert.deepEqual(names.slice(0, 2), ['template1', 'postgres'])
    assert.match(blockers.join('\n'), /"closed" accepts no connections/)
    assert.match(blockers.join('\n'), /replication slot "standby" would be lost/)
    await withServer(pair.old, stage, async (ask) => {
      await ask('main', 'DROP DATABASE closed')
      await ask('main', "SELECT pg_drop_replication_slot('standby')")
    })
  })

  test('an extension that the new version lacks ends it, names it, and the old data is as it was', async () => {
    const control = '/usr/share/postgresql/15/extension/old_snapshot.control'
    assert.ok(existsSync(control), 'PostgreSQL 15 has old_snapshot, and 18 has not.')
    await withServer(pair.old, stage, async (ask) => void (await ask('main', 'CREATE EXTENSION old_snapshot')))
    await assert.rejects(upgrades.convert(), /old_snapshot/)
    await upgrades.undo()
    assert.deepEqual([existsSync(dataPath('cluster.new')), existsSync(dataPath('cluster.old'))], [false, false])
    await withServer(pair.old, stage, async (ask) => void (await ask('main', 'DROP EXTENSION old_snapshot')))
  })

  test('a killed one begins again, wherever it was', { timeout: 300_000 }, async () => {
    for (const milliseconds of [50, 200, 500, 900]) {
      await killAfter(method.look(pair), machine, milliseconds)
      await killAfter(method.count(pair).before, machine, milliseconds)
    }
    await upgrades.look()
  })

  test('everything is there afterwards, with who owns it and who may what', { timeout: 300_000 }, async () => {
    await upgrades.convert()
    const [before, after] = await upgrades.counts()
    assert.deepEqual(after, before)
    assert.ok(before.databases.main.tables['public.book'].rows === 5000, JSON.stringify(before))
    assert.deepEqual(before.databases.main.uncounted, [])
    await upgrades.swap()
    await upgrades.swap()
    await withServer(pair.next, later, async (ask) => {
      assert.match(String((await ask('main', 'SHOW server_version'))[0]!.server_version), /^18/)
      assert.deepEqual(await ask('main', "SELECT nextval('ticket')"), [{ nextval: '42' }])
      assert.deepEqual(await ask('main', 'SELECT count(*)::int AS n FROM shelf.thin'), [{ n: 9 }])
      assert.deepEqual(await ask('main', "SELECT convert_from(lo_get(4711), 'UTF8') AS text"), [
        { text: 'a large one' },
      ])
      await ask('main', "UPDATE book SET title = 'new' WHERE n = 1")
      assert.deepEqual(await ask('main', 'SELECT count(*)::int AS n FROM change'), [{ n: 1 }])
      assert.deepEqual(await ask('main', "SELECT crypt('x', hash) = hash AS same FROM secret"), [{ same: true }])
      assert.deepEqual(await ask('main', 'SHOW work_mem'), [{ work_mem: '7MB' }])
      assert.deepEqual(await ask('we"ird =name', 'SELECT text FROM note'), [{ text: 'Grüße' }])
      assert.deepEqual(await ask('postgres', 'SELECT n FROM inpostgres'), [{ n: 3 }])
      assert.deepEqual(await ask('other', 'SELECT current_setting($$search_path$$) AS path'), [{ path: 'elsewhere' }])
      const alice = { user: 'alice', password: 'hers' }
      assert.deepEqual(await ask('main', 'SELECT count(*)::int AS n FROM shelf.thin', alice), [{ n: 9 }])
      await assert.rejects(ask('main', 'SELECT * FROM secret', alice), /permission denied/)
      assert.deepEqual(await ask('main', "SELECT tableowner FROM pg_tables WHERE tablename = 'hers'"), [
        { tableowner: 'alice' },
      ])
    })
  })

  test('undone it is the old one again, also between its two renames', async () => {
    assert.ok(existsSync(dataPath('cluster.old')))
    renameSync(dataPath('cluster'), dataPath('cluster.new'))
    await withServer(pair.old, stage, async (ask) => {
      assert.deepEqual(await ask('main', 'SELECT title FROM book WHERE n = 1'), [{ title: 'title 1' }])
    })
    await upgrades.undo()
    await upgrades.undo()
    assert.deepEqual([existsSync(dataPath('cluster.new')), existsSync(dataPath('cluster.old'))], [false, false])
  })

  test('finished, nothing of the old one is left, and a later one takes nothing from it', {
    timeout: 300_000,
  }, async () => {
    await upgrades.convert()
    await upgrades.swap()
    renameSync(dataPath('cluster.old'), dataPath('kept'))
    await upgrades.finish()
    await upgrades.finish()
    // What an upgrade before this one left beside data of the old line is never put in its place.
    renameSync(dataPath('cluster'), dataPath('cluster.old'))
    renameSync(dataPath('kept'), dataPath('cluster'))
    await upgrades.undo()
    assert.equal(existsSync(dataPath('cluster.old')), false)
    await withServer(pair.old, stage, async (ask) => {
      assert.match(String((await ask('main', 'SHOW server_version'))[0]!.server_version), /^15/)
    })
  })
})

describe('The upgrade of a PostgreSQL on a disk that is too small', { concurrency: 1 }, () => {
  const embedded = embeddedPostgresql()
  let stage: Stage
  let later: Stage
  let machine: Machine

  before(() => {
    stage = nativeStage(kind, postgresqlIn(earlier))
    later = nativeStage(kind, postgresqlIn(embedded.directory))
    machine = stage.project(name, { password })
    const { uid } = machine
    const owner = uid === undefined ? '' : `,uid=${uid},gid=${uid}`
    mustRun('mount', '-t', 'tmpfs', '-o', `size=90m,mode=700${owner}`, 'tmpfs', machine.data[name]!)
  })
  after(async () => {
    mustRun('umount', machine.data[name]!)
    await Promise.all([stage.close(), later.close()])
    embedded.remove()
  })

  test('ends with the old data in its place, and room again', { timeout: 120_000 }, async () => {
    const old = await stage.database({ username: 'main' })
    const pair = { old, next: await later.database({ username: 'main' }) }
    const spec = kind.toWorkload(old)
    for (const job of spec.setup) assert.equal((await stage.runJob(job, machine)).code, 0)
    const upgrades = upgradesOf(method, pair, machine)
    await assert.rejects(upgrades.convert(), /No space left on device/)
    await upgrades.undo()
    assert.equal(existsSync(join(machine.data[name]!, 'cluster.new')), false)
    const running = await stage.start(spec, machine)
    await running.ready()
    await running.stop()
  })
})

function mustRun(program: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
}

const filling: readonly (readonly [database: string, sql: string])[] = [
  ['main', "ALTER SYSTEM SET work_mem = '7MB'"],
  ['main', "ALTER SYSTEM SET old_snapshot_threshold = '1h'"],
  ['main', 'CREATE EXTENSION pgcrypto; CREATE EXTENSION "uuid-ossp"; CREATE EXTENSION citext; CREATE EXTENSION hstore'],
  ['main', "CREATE ROLE alice LOGIN PASSWORD 'hers'; CREATE ROLE readers; GRANT readers TO alice"],
  ['main', "COMMENT ON ROLE readers IS 'who reads'"],
  [
    'main',
    `CREATE TABLE book AS SELECT n, 'title ' || n AS title, n / 3.0 AS price, now() AS at, uuid_generate_v4() AS id FROM generate_series(1, 5000) n;
     CREATE UNIQUE INDEX ON book (n);
     CREATE SEQUENCE ticket START 41; SELECT nextval('ticket');
     CREATE TABLE change (n int, at timestamptz);
     CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.change VALUES (new.n, now()); RETURN new; END $$;
     CREATE TRIGGER told AFTER UPDATE ON book FOR EACH ROW EXECUTE FUNCTION changed();
     CREATE SCHEMA shelf; CREATE VIEW shelf.thin AS SELECT * FROM book WHERE n < 10; GRANT USAGE ON SCHEMA shelf TO readers; GRANT SELECT ON shelf.thin TO readers;
     CREATE MATERIALIZED VIEW shelf.sums AS SELECT count(*) FROM book;
     CREATE TABLE secret AS SELECT crypt('x', gen_salt('bf', 4)) AS hash; CREATE TABLE mail (address citext);
     CREATE TABLE hers (n int); ALTER TABLE hers OWNER TO alice;
     CREATE UNLOGGED TABLE quick AS SELECT 1 AS n;
     CREATE TABLE parted (n int) PARTITION BY RANGE (n); CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10); INSERT INTO parted VALUES (4);
     SELECT lo_from_bytea(4711, 'a large one')`,
  ],
  ['main', 'CREATE DATABASE other OWNER alice'],
  ['main', 'ALTER DATABASE other SET search_path = elsewhere'],
  ['main', 'ALTER DATABASE other SET default_transaction_read_only = on'],
  ['main', 'CREATE DATABASE "we""ird =name"'],
  ['we"ird =name', "CREATE TABLE note AS SELECT 'Grüße' AS text"],
  ['postgres', 'CREATE TABLE inpostgres AS SELECT 3 AS n'],
]
