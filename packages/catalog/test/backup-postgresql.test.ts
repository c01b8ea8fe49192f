import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, globSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type DatabaseInput, databaseTypeOf } from '@stackquay/catalog'
import { waitFor } from '@stackquay/testkit'
import { Client } from 'pg'
import { type Backups, backups, begin, unpack } from './support/backups.ts'
import { embeddedPostgresql, postgresqlIn } from './support/postgresql-programs.ts'
import { freePort, type Machine } from './support/run-workload.ts'
import { nativeStage, type Stage, type Started } from './support/stage.ts'

const kind = databaseTypeOf('postgresql')!
const { online, contents } = kind.backup!
const name = 'postgresql-main'

const embedded = embeddedPostgresql()
after(embedded.remove)
const installed = globSync('/usr/lib/postgresql/*/bin/postgres').map(dirname)
assert.ok(installed.length > 0, 'Install PostgreSQL: apt-get install -y postgresql')

const places = [
  { of: 'the embedded binaries, by the built-in program', directory: embedded.directory, inContainer: false },
  ...installed.flatMap((directory) => [
    { of: `${directory}, by the built-in program`, directory, inContainer: false },
    { of: `${directory}, by the client programs that an image has`, directory, inContainer: true },
  ]),
]

for (const { of, directory, inContainer } of places) {
  describe(`A backup of a running PostgreSQL of ${of}`, { concurrency: 1 }, () => {
    let stage: Stage
    let machine: Machine
    let input: DatabaseInput
    let running: Started
    let programs: Backups

    before(async () => {
      programs = backups()
      stage = nativeStage(kind, postgresqlIn(directory))
      machine = stage.project(name, { password: 'old $ecret' })
      input = await stage.database({ inContainer, ourProgram: programs.ourProgram })
      running = await started(input, machine)
      await withClient(input, 'old $ecret', 'main', (client) => client.query(filling))
      await withClient(input, 'old $ecret', 'main', (client) => client.query(`CREATE DATABASE "it's ""other"" = x"`))
      await withClient(input, 'old $ecret', `it's "other" = x`, (client) =>
        client.query(`CREATE TABLE only_here AS SELECT 1 AS one`),
      )
    })

    after(async () => {
      await running?.stop()
      await stage.close()
      programs.close()
    })

    test('has the same in it under another port and another password', async () => {
      const original = await programs.contents(contents!(input)!, machine)
      const copy = stage.project(name, { password: 'new $ecret' })
      await programs.copyTo(copy, online!(input)!, machine)
      const verify = join(directory, 'pg_verifybackup')
      if (existsSync(verify)) {
        const { status, stderr } = spawnSync(verify, ['-q', join(copy.data[name]!, 'cluster')], {
          encoding: 'utf8',
        })
        assert.equal(status, 0, stderr)
      }
      await withCopy(copy, async (moved) => {
        assert.deepEqual(await programs.contents(contents!(moved)!, copy), original)
        await withClient(moved, 'new $ecret', 'main', async (client) => {
          assert.equal((await client.query('SELECT total()')).rows[0].total, '1000')
        })
        await assert.rejects(
          withClient(moved, 'old $ecret', 'main', async () => {}),
          /password authentication failed/,
        )
      })
    })

    test('counts rows, whatever their order, and tells what it cannot hold', async () => {
      const { cluster, databases } = (await programs.contents(contents!(input)!, machine)) as unknown as Counted
      assert.deepEqual(Object.keys(databases).sort(), [`it's "other" = x`, 'main', 'postgres'])
      assert.equal(cluster.roles, 2)
      const { main } = databases
      assert.deepEqual([main!.schemas, main!.functions, main!.sequences, main!.views], [2, 1, 1, 1])
      assert.deepEqual(main!.unlogged, ['public.fleeting'])
      assert.deepEqual(main!.uncounted, [])
      assert.equal(main!.tables['public.note']!.rows, 1000)
      assert.equal(main!.tables['Odd "schema".t']!.rows, 3)
      assert.equal(main!.tables['pg_catalog.pg_largeobject']!.rows, 1)
      assert.equal(main!.tables['public.note']!.checksum, main!.tables['public.turned']!.checksum)
      await withClient(input, 'old $ecret', 'main', (client) => client.query(`UPDATE note SET text = 'x' WHERE id = 7`))
      const later = (await programs.contents(contents!(input)!, machine)) as unknown as Counted
      assert.notEqual(later.databases.main!.tables['public.note']!.checksum, main!.tables['public.turned']!.checksum)
    })

    test('has every row that was acknowledged before it began, while clients write and the log moves on', async () => {
      const copy = stage.project(name, { password: 'old $ecret' })
      const load = await writing(input, 'old $ecret')
      await waitFor('some rows', async () => load.acknowledged() > 50)
      const before = load.acknowledged()
      const taken = await begin(online!(input)!, machine)
      // Unread: the server is in the middle of it while checkpoints give back log that nothing keeps.
      await withClient(input, 'old $ecret', 'main', async (client) => {
        const isSending = async () =>
          (await client.query('SELECT 1 FROM pg_stat_progress_basebackup WHERE backup_streamed > 0')).rowCount === 1
        await waitFor('the backup to be under way', isSending)
        for (let round = 0; round < 3; round += 1) {
          await client.query('SELECT pg_switch_wal()')
          await client.query('CHECKPOINT')
        }
      })
      await unpack(taken, copy)
      await load.stop()
      assert.ok(load.acknowledged() > before, 'nothing was written meanwhile')
      await withCopy(copy, (moved) =>
        withClient(moved, 'old $ecret', 'main', async (client) => {
          const { rows } = await client.query('SELECT count(*)::int AS rows, max(id)::int AS last FROM load')
          assert.ok(rows[0].last >= before, `${rows[0].last} of ${before}`)
          assert.equal(rows[0].rows, rows[0].last)
        }),
      )
    })

    test('leaves nothing at the server when it is killed', async () => {
      const taken = await begin(online!(input)!, machine)
      await withClient(input, 'old $ecret', 'main', async (client) => {
        const slots = async () => (await client.query('SELECT 1 FROM pg_replication_slots')).rowCount
        await waitFor('its slot', async () => (await slots()) === 1)
        process.kill(-taken.child.pid!, 'SIGKILL')
        await assert.rejects(taken.succeeded(), /SIGKILL/)
        await waitFor('its slot to go', async () => (await slots()) === 0)
      })
    })

    test('is refused when the cluster has data outside its folder', async () => {
      const outside = join(dirname(machine.data[name]!), 'outside')
      mkdirSync(outside)
      if (machine.uid !== undefined) chownSync(outside, machine.uid, machine.uid)
      await withClient(input, 'old $ecret', 'main', (client) =>
        client.query(`CREATE TABLESPACE out LOCATION '${outside}'`),
      )
      await assert.rejects(
        programs.copyTo(stage.project(name, {}), online!(input)!, machine),
        inContainer ? /can only write single tablespace to stdout/ : /tablespaces outside its folder.*Move/,
      )
      await withClient(input, 'old $ecret', 'main', (client) => client.query('DROP TABLESPACE out'))
    })

    async function started(of: DatabaseInput, on: Machine): Promise<Started> {
      const workload = kind.toWorkload(of)
      for (const job of workload.setup) {
        const { code, output } = await stage.runJob(job, on)
        assert.equal(code, 0, output)
      }
      const server = await stage.start(workload, on)
      await server.ready()
      return server
    }

    /** As a restored project: another lease, and its own secret. */
    async function withCopy(copy: Machine, act: (input: DatabaseInput) => Promise<unknown>): Promise<void> {
      const port = await freePort()
      const secret: DatabaseInput['secret'] = (secretName) => [{ secret: secretName, version: 2 }]
      const moved = { ...input, secret, port, hostPort: port, listen: { ...input.listen, port } }
      const server = await started(moved, copy)
      try {
        await act(moved)
      } finally {
        await server.stop()
      }
    }
  })
}

interface Counted {
  readonly cluster: { readonly roles: number; readonly dataChecksums: boolean }
  readonly databases: Readonly<Record<string, DatabaseCounts>>
}

interface DatabaseCounts {
  readonly schemas: number
  readonly functions: number
  readonly sequences: number
  readonly views: number
  readonly tables: Readonly<Record<string, { readonly rows: number; readonly checksum: string }>>
  readonly uncounted: readonly string[]
  readonly unlogged: readonly string[]
}

const filling = `
  CREATE ROLE reader;
  CREATE EXTENSION pg_trgm;
  CREATE TABLE note (id int PRIMARY KEY, text text, at timestamptz DEFAULT '2026-01-02 03:04:05+06', n float8);
  INSERT INTO note (id, text, n) SELECT id, repeat(md5(id::text), 30), id / 3.0 FROM generate_series(1, 1000) AS id;
  CREATE TABLE turned AS SELECT * FROM note ORDER BY id DESC;
  CREATE TABLE load (id bigserial PRIMARY KEY, text text);
  CREATE UNLOGGED TABLE fleeting (id int);
  CREATE VIEW notes AS SELECT * FROM note;
  CREATE SCHEMA "Odd ""schema""";
  CREATE TABLE "Odd ""schema""".t ("counted row" int);
  INSERT INTO "Odd ""schema""".t VALUES (1), (1), (NULL);
  SELECT lo_from_bytea(0, 'large');
  CREATE FUNCTION total() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM public.note';
`

/** One client that writes without a pause; a row counts when the server has acknowledged it. */
async function writing(input: DatabaseInput, password: string) {
  const client = new Client({
    host: '127.0.0.1',
    port: input.hostPort,
    user: input.username,
    password,
    database: 'main',
  })
  await client.connect()
  let acknowledged = 0
  let isStopped = false
  const done = (async () => {
    while (!isStopped) {
      const { rows } = await client.query(`INSERT INTO load (text) VALUES (repeat('x', 2000)) RETURNING id`)
      acknowledged = Number(rows[0].id)
    }
    await client.end()
  })()
  return {
    acknowledged: () => acknowledged,
    stop() {
      isStopped = true
      return done
    },
  }
}

async function withClient<T>(
  input: DatabaseInput,
  password: string,
  database: string,
  act: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({ host: '127.0.0.1', port: input.hostPort, user: input.username, password, database })
  try {
    await client.connect()
    return await act(client)
  } finally {
    await client.end()
  }
}
