import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type DatabaseInput, databaseTypeOf } from '@stackquay/catalog'
import { revealValue, type Value } from '@stackquay/engine-api'
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'
import type { Machine } from './run-workload.ts'
import { databaseFromHere, type Stage, type Started } from './stage.ts'

const kind = databaseTypeOf('mariadb')!
const name = 'mariadb-main_1'
const password = `it's "quoted" $HOME \\ %41 #@/ é`
const rotated = `new'; \\' -- $1 \`id\` ü\\`

/** What MariaDB promises for its data, wherever it runs. */
export function mariadbJourneys(place: string, open: () => Stage): void {
  describe(`A MariaDB database ${place}`, { concurrency: 1 }, () => {
    const line = () => kind.lineOf(input.toolchain.version)
    const server = () => join(data, 'server')
    const initJob = () => kind.toWorkload(input).setup[0]!
    let stage: Stage
    let data: string
    let machine: Machine
    let input: DatabaseInput

    before(async () => {
      stage = open()
      machine = stage.project(name, { password })
      data = machine.data[name]!
      input = await stage.database({ name, database: 'main_1', username: 'main_1' })
    })

    after(() => stage.close())

    test('leaves nothing behind that the next attempt would trip over when its creation is killed', async () => {
      for (const milliseconds of [30, 150, 300]) {
        await stage.killJob(initJob(), machine, milliseconds)
        assert.equal(existsSync(server()), false, `killed after ${milliseconds} ms`)
      }
      const { code, output } = await stage.runJob(initJob(), machine)
      assert.equal(code, 0, output)
      assert.equal(readFileSync(join(server(), 'release'), 'utf8').trim(), line())
      assert.deepEqual(readdirSync(data), ['server'])
    })

    test('is not touched when its creation runs once more', async () => {
      const before = statSync(join(server(), 'ibdata1')).mtimeMs
      const { code, output } = await stage.runJob(initJob(), machine)
      assert.deepEqual([code, output.trim()], [0, 'The database is there already.'])
      assert.equal(statSync(join(server(), 'ibdata1')).mtimeMs, before)
    })

    test('takes connections through the URL it gives to programs, and refuses a wrong password', async () => {
      await withServer(async () => {
        await withClient(await url(), async (client) => {
          const [[row]] = await client.query<RowDataPacket[]>(
            'SELECT DATABASE() AS name, CURRENT_USER() AS who, @@character_set_database AS letters, UPPER(?) AS upper',
            ['é🙂'],
          )
          assert.deepEqual({ ...row }, { name: 'main_1', who: 'main_1@%', letters: 'utf8mb4', upper: 'É🙂' })
          await client.query('CREATE TABLE note (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(100))')
          await client.query('CREATE TRIGGER shout BEFORE INSERT ON note FOR EACH ROW SET NEW.text = TRIM(NEW.text)')
        })
        await assert.rejects(
          withClient(await url('wrong'), async () => {}),
          { code: 'ER_ACCESS_DENIED_ERROR' },
        )
        await assert.rejects(
          withClient(await url(''), async () => {}),
          { code: 'ER_ACCESS_DENIED_ERROR' },
        )
      })
    })

    test('lets its user into its own database alone, and nobody else in', async () => {
      await withServer(async (running) => {
        await withClient(await url(), async (client) => {
          // A grant in which "_" stood for any character would allow the last one.
          for (const name of ['other', 'main_2', 'mainx1'])
            await assert.rejects(client.query(`CREATE DATABASE ${name}`), { code: 'ER_DBACCESS_DENIED_ERROR' })
          const [reporters] = await client.query<RowDataPacket[]>(
            `SELECT 1 FROM information_schema.plugins WHERE plugin_name = 'FEEDBACK' AND plugin_status = 'ACTIVE'`,
          )
          assert.equal(reporters.length, 0)
          await assert.rejects(client.query('SELECT * FROM mysql.global_priv'), { code: 'ER_TABLEACCESS_DENIED_ERROR' })
          await assert.rejects(client.query(`SELECT 1 INTO OUTFILE '/tmp/stackquay-never'`), /FILE privilege/)
        })
        for (const name of ['root', '', 'nobody', 'mariadb.sys'])
          await assert.rejects(
            withClient(`mysql://${name}:@127.0.0.1:${input.hostPort}/mysql`, async () => {}),
            name,
          )
        assert.match(await running.output(), /socket: ''/)
      })
    })

    test('keeps its password where its data is, as private', async () => {
      const { mode } = statSync(join(data, 'account.sql'))
      assert.equal(mode & 0o777, 0o600)
      assert.deepEqual(readdirSync(data).sort(), ['account.sql', 'server'])
    })

    test('stops within its deadline while a client stays connected, and keeps its rows', async () => {
      await withServer(async (running) => {
        const client = await createConnection(await url())
        client.on('error', () => {})
        await client.query(`INSERT INTO note (text) VALUES (' kept ')`)
        assert.deepEqual(await running.stop(), { code: 0, signal: null })
        client.destroy()
      })
      await withServer(async () => assert.deepEqual(await notes(), ['kept']))
    })

    test('has every row it acknowledged after it was killed in the middle of writing', async () => {
      const acknowledged: string[] = ['kept']
      await withServer(async (running) => {
        const client = await createConnection(await url())
        client.on('error', () => {})
        const writing = (async () => {
          for (let number = 0; ; number++) {
            await client.query('INSERT INTO note (text) VALUES (?)', [`row ${number}`])
            acknowledged.push(`row ${number}`)
          }
        })().catch(() => {})
        const ended = writing.then(() => true)
        const moment = () => new Promise<false>((resolve) => setTimeout(resolve, 5, false))
        while (acknowledged.length < 50) assert.ok(!(await Promise.race([ended, moment()])), 'it stopped writing')
        await running.stop('SIGKILL')
        await writing
        client.destroy()
      })
      await withServer(async () => {
        const found = new Set(await notes())
        assert.deepEqual(
          acknowledged.filter((row) => !found.has(row)),
          [],
        )
      })
    })

    test('takes a rotated password and not the old one, though starts with it were killed, and keeps its rows', async () => {
      const before = await withServer(notes)
      machine = { ...machine, secrets: { password: rotated } }
      input = { ...input, secret: secretOf(2) }
      for (const milliseconds of [10, 80, 160, 240, 320, 400]) {
        const running = await stage.start(kind.toWorkload(input), machine)
        await new Promise((resolve) => setTimeout(resolve, milliseconds))
        await running.stop('SIGKILL')
      }
      const after = await withServer(async (running) => {
        await assert.rejects(
          withClient(await url(password), async () => {}),
          { code: 'ER_ACCESS_DENIED_ERROR' },
        )
        assert.doesNotMatch(await running.output(), /new'|ERROR/)
        return notes()
      })
      assert.deepEqual(after, before)
    })

    test('comes right when it is a copy with the password of another project', async () => {
      machine = { ...machine, secrets: { password: 'another' } }
      assert.ok((await withServer(notes)).length > 0)
    })

    test('says which version wrote the data when another is chosen', async () => {
      const other = kind.toWorkload({ ...input, toolchain: { ...input.toolchain, version: '10.6.22' } })
      const running = await stage.start(other, machine)
      await assert.rejects(
        running.ready(10),
        new RegExp(`written by MariaDB ${line()}.*Choose version ${line()} again`),
      )
      await running.stop()
    })

    async function withServer<T>(act: (running: Started) => Promise<T>): Promise<T> {
      const running = await stage.start(kind.toWorkload(input), machine)
      try {
        await running.ready(60)
        // Whoever connects as soon as it listens is served, with the present password: nothing is asked twice here.
        await withClient(await url(), async () => {})
        return await act(running)
      } finally {
        await running.stop()
      }
    }

    async function notes(): Promise<string[]> {
      return withClient(await url(), async (client) => {
        const [rows] = await client.query<RowDataPacket[]>('SELECT text FROM note ORDER BY id')
        return rows.map((row) => row.text as string)
      })
    }

    const url = (secret?: string) => text(kind.variables(databaseFromHere(input), '').DATABASE_URL!, secret)

    function text(value: Value, secret = machine.secrets.password!): Promise<string> {
      return revealValue(value, async () => secret)
    }
  })
}

async function withClient<T>(uri: string, act: (client: Connection) => Promise<T>): Promise<T> {
  const client = await createConnection(uri)
  try {
    return await act(client)
  } finally {
    await client.end()
  }
}

/** References of a later version, as the service makes them after a rotation. */
function secretOf(version: number): DatabaseInput['secret'] {
  return (name, encode) => [{ secret: name, version, ...(encode ? { encode } : {}) }]
}
