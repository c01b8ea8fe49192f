import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { type DatabaseInput, databaseTypeOf } from '@stackquay/catalog'
import { type Connection, createConnection } from 'mysql2/promise'
import { type Backups, backups } from './support/backups.ts'
import { freePort, type Machine } from './support/run-workload.ts'
import { nativeStage, type Stage } from './support/stage.ts'

const kind = databaseTypeOf('mariadb')!
const name = 'mariadb-main'
const program = '/usr/sbin/mariadbd'
const printed = spawnSync(program, ['--no-defaults', '--version'], { encoding: 'utf8' }).stdout ?? ''
const version = new RegExp(kind.toolchain.versionPattern).exec(printed)?.[1]
assert.ok(version, 'Install MariaDB: apt-get install -y mariadb-server')

describe('What is in a MariaDB', { concurrency: 1 }, () => {
  let stage: Stage
  let programs: Backups
  let machine: Machine
  let input: DatabaseInput

  before(async () => {
    programs = backups()
    stage = nativeStage(kind, { version: version!, program, directory: '/usr/sbin' })
    machine = stage.project(name, { password: `old "$ecret' é` })
    input = await stage.database({ name, database: 'main', username: 'main' })
    for (const job of kind.toWorkload(input).setup) {
      const { code, output } = await stage.runJob(job, machine)
      assert.equal(code, 0, output)
    }
  })

  after(async () => {
    await stage.close()
    programs.close()
  })

  test('is counted, and the same in a copy that was made while it was stopped', async () => {
    const original = await withServer(input, machine, async (client) => {
      for (const statement of filling) await client.query(statement)
      const first = await counted(input, machine)
      assert.deepEqual([first.views, first.triggers, first.routines, first.events], [1, 1, 1, 0])
      assert.deepEqual(first.uncounted, [])
      assert.deepEqual(
        Object.entries(first.tables).map(([table, { rows }]) => [table, rows]),
        [
          ['empty', 0],
          ['it`s "odd"\ttable', 2],
          ['note', 500],
        ],
      )
      await client.query(`UPDATE note SET text = 'other' WHERE id = 7`)
      const second = await counted(input, machine)
      assert.notEqual(second.tables.note!.checksum, first.tables.note!.checksum)
      assert.deepEqual({ ...second.tables, note: null }, { ...first.tables, note: null })
      return second
    })
    const copy = await stage.copy(machine, name, { password: 'new' })
    const port = await freePort()
    const moved = { ...input, port, hostPort: port, listen: { ...input.listen, port } }
    await withServer(moved, copy, async () => assert.deepEqual(await counted(moved, copy), original))
  })

  test('is not counted with a wrong password, and the words of the server say so', async () => {
    await withServer(input, machine, async () => {
      const wrong = { ...machine, secrets: { password: 'wrong' } }
      await assert.rejects(programs.contents(kind.backup!.contents!(input)!, wrong), /Access denied/)
      const bare = { ...input, toolchain: { ...input.toolchain, directory: '/usr/lib/none/sbin' } }
      await assert.rejects(programs.contents(kind.backup!.contents!(bare)!, machine), /no client program/)
    })
  })

  async function counted(of: DatabaseInput, on: Machine) {
    return (await programs.contents(kind.backup!.contents!(of)!, on)) as unknown as {
      readonly views: number
      readonly triggers: number
      readonly routines: number
      readonly events: number
      readonly tables: Readonly<Record<string, { readonly rows: number; readonly checksum: string }>>
      readonly uncounted: readonly string[]
    }
  }

  async function withServer<T>(of: DatabaseInput, on: Machine, act: (client: Connection) => Promise<T>): Promise<T> {
    const server = await stage.start(kind.toWorkload(of), on)
    try {
      await server.ready()
      const client = await createConnection({
        ...{ host: '127.0.0.1', port: of.hostPort, user: 'main', database: 'main' },
        password: on.secrets.password!,
      })
      try {
        return await act(client)
      } finally {
        await client.end()
      }
    } finally {
      await server.stop()
    }
  }
})

const filling = [
  'CREATE TABLE note (id int PRIMARY KEY, text text)',
  `INSERT INTO note SELECT seq, REPEAT(MD5(seq), 10) FROM seq_1_to_500`,
  'CREATE TABLE `it``s "odd"\ttable` (id int)',
  'INSERT INTO `it``s "odd"\ttable` VALUES (1), (2)',
  'CREATE TABLE empty (id int)',
  'CREATE VIEW notes AS SELECT * FROM note',
  'CREATE TRIGGER before_note BEFORE INSERT ON note FOR EACH ROW SET NEW.text = UPPER(NEW.text)',
  'CREATE FUNCTION one() RETURNS int RETURN 1',
]
