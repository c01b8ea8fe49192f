import assert from 'node:assert/strict'
import { chownSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type DatabaseInput, databaseTypeOf } from '@stackquay/catalog'
import { Client } from 'pg'
import type { Machine } from './run-workload.ts'
import { databaseFromHere, type Stage, type Started } from './stage.ts'

const kind = databaseTypeOf('postgresql')!
const password = `it's "quoted" $HOME \\ %41 #@/ é`
const rotated = `new'; password \\' "x" $1 ü`

/** What PostgreSQL promises for its data, wherever it runs. */
export function postgresqlJourneys(place: string, open: () => Stage): void {
  describe(`A PostgreSQL database ${place}`, { concurrency: 1 }, () => {
    let stage: Stage
    let machine: Machine
    let input: DatabaseInput

    before(async () => {
      stage = open()
      machine = stage.project('postgresql-main', { password })
      input = await stage.database()
    })

    after(() => stage.close())

    const cluster = () => join(machine.data['postgresql-main']!, 'cluster')
    const line = () => kind.lineOf(input.toolchain.version)
    const initJob = () => kind.toWorkload(input).setup[0]!
    const passwordJob = (of = input) => kind.toWorkload(of).setup[1]!

    test('leaves nothing behind that the next attempt would trip over when its creation is killed', async () => {
      for (const milliseconds of [40, 250, 450]) {
        await stage.killJob(initJob(), machine, milliseconds)
        assert.equal(existsSync(cluster()), false, `killed after ${milliseconds} ms`)
      }
      const { code, output } = await stage.runJob(initJob(), machine)
      assert.equal(code, 0, output)
      assert.equal(readFileSync(join(cluster(), 'PG_VERSION'), 'utf8').trim(), line())
      assert.doesNotMatch(output, /quoted/)
    })

    test('is not touched when its creation runs once more', async () => {
      const before = readFileSync(join(cluster(), 'global', 'pg_control'))
      const { code, output } = await stage.runJob(initJob(), machine)
      assert.equal(code, 0, output)
      assert.deepEqual(readFileSync(join(cluster(), 'global', 'pg_control')), before)
    })

    test('takes connections through the variables it gives to programs, and refuses a wrong password', async () => {
      await withServer(async () => {
        await withClient(connectionString(), async (client) => {
          const answer = await client.query(
            'SELECT current_database() AS name, current_user AS who, upper($1) AS upper',
            ['é'],
          )
          assert.deepEqual(answer.rows, [{ name: 'main', who: 'shop', upper: 'É' }])
          await client.query('CREATE TABLE note (text text)')
          await client.query('CREATE EXTENSION pgcrypto')
        })
        const wrong = new Client({ connectionString: connectionString('wrong') })
        await assert.rejects(wrong.connect(), /password authentication failed/)
      })
    })

    test('stops within its deadline while a client stays connected, and keeps its rows', async () => {
      await withServer(async (running) => {
        const client = new Client({ connectionString: connectionString() })
        client.on('error', () => {})
        await client.connect()
        await client.query(`INSERT INTO note VALUES ('kept')`)
        assert.deepEqual(await running.stop(), { code: 0, signal: null })
        await client.end().catch(() => {})
      })
      await withServer(() =>
        withClient(connectionString(), async (client) => {
          assert.deepEqual((await client.query('SELECT text FROM note')).rows, [{ text: 'kept' }])
        }),
      )
    })

    test('starts again after it was killed, even when another program now has its process id', async () => {
      await withServer(async (running) => {
        await withClient(connectionString(), (client) => client.query(`INSERT INTO note VALUES ('committed')`))
        await running.stop('SIGKILL')
      })
      const stranger = stage.stranger()
      try {
        const file = join(cluster(), 'postmaster.pid')
        const lines = readFileSync(file, 'utf8').split('\n')
        writeFileSync(file, [String(stranger.pid), ...lines.slice(1)].join('\n'))
        await withServer(() =>
          withClient(connectionString(), async (client) => {
            assert.equal((await client.query('SELECT text FROM note')).rowCount, 2)
          }),
        )
      } finally {
        stranger.end()
      }
    })

    test('says which version wrote the data when another is chosen', async () => {
      const other = kind.toWorkload({ ...input, version: '14', toolchain: { ...input.toolchain, version: '14.2' } })
      const running = await stage.start(other, machine)
      await assert.rejects(
        running.ready(10),
        new RegExp(`written by PostgreSQL ${line()}.*Choose version ${line()} again`),
      )
      await running.stop()
    })

    test('may be called "postgres", a name that every cluster has already', async () => {
      const other = stage.project('postgresql-main', { password })
      const job = kind.toWorkload({ ...input, database: 'postgres', username: 'postgres' }).setup[0]!
      const { code, output } = await stage.runJob(job, other)
      assert.equal(code, 0, output)
      assert.ok(existsSync(join(other.data['postgresql-main']!, 'cluster', 'PG_VERSION')))
    })

    test('needs no second start of a server when it is new: it knows whose password it has', async () => {
      const before = readFileSync(join(cluster(), 'global', 'pg_control'))
      const { code, output } = await stage.runJob(passwordJob(), machine)
      assert.deepEqual([code, output.trim()], [0, 'The password is set already.'])
      assert.deepEqual(readFileSync(join(cluster(), 'global', 'pg_control')), before)
    })

    describe('whose password was rotated', () => {
      const next = () => ({ ...input, secret: secretOf(2) })
      const nextMachine = () => ({ ...machine, secrets: { password: rotated } })

      test('takes the new one and not the old, and keeps its rows, though its server was killed and the job too', async () => {
        await withServer(async (running) => {
          await withClient(connectionString(), (client) => client.query(`INSERT INTO note VALUES ('before rotation')`))
          await running.stop('SIGKILL')
        })
        for (const milliseconds of [15, 60, 150]) await stage.killJob(passwordJob(next()), nextMachine(), milliseconds)
        const { code, output } = await stage.runJob(passwordJob(next()), nextMachine())
        assert.equal(code, 0, output)
        assert.doesNotMatch(output, /new'/)
        input = next()
        machine = nextMachine()
        await withServer(async () => {
          await withClient(connectionString(rotated), async (client) => {
            const { rows } = await client.query(`SELECT text FROM note WHERE text = 'before rotation'`)
            assert.equal(rows.length, 1)
            const stored = await client.query('SELECT rolpassword FROM pg_authid WHERE rolname = current_user')
            assert.match(stored.rows[0].rolpassword, /^SCRAM-SHA-256/)
          })
          await assert.rejects(
            withClient(connectionString(password), async () => {}),
            /password authentication failed/,
          )
        })
      })

      test('runs its job once: the reference decides, and it never stands in argv', async () => {
        assert.notDeepEqual(passwordJob({ ...input, secret: secretOf(3) }).stdin, passwordJob().stdin)
        assert.doesNotMatch(JSON.stringify(passwordJob().argv), /new'|quoted"/)
        assert.equal((await stage.runJob(passwordJob(), machine)).output.trim(), 'The password is set already.')
      })

      test('sets it although another program has the process id of a killed job', async () => {
        const stranger = stage.stranger()
        try {
          const lock = join(cluster(), 'postmaster.pid')
          writeFileSync(lock, `-${stranger.pid}\n${cluster()}\n1\n0\n`)
          const { uid, gid } = statSync(cluster())
          chownSync(lock, uid, gid)
          const { code, output } = await stage.runJob(passwordJob({ ...input, secret: secretOf(3) }), machine)
          assert.equal(code, 0, output)
        } finally {
          stranger.end()
        }
      })

      test('says what failed without the password when its user is gone', async () => {
        const { code, output } = await stage.runJob(
          passwordJob({ ...input, username: 'nobody', secret: secretOf(4) }),
          machine,
        )
        assert.notEqual(code, 0)
        assert.match(output, /role "nobody" does not exist/)
        assert.doesNotMatch(output, /new'|ALTER ROLE/)
      })
    })

    async function withServer(act: (running: Started) => Promise<unknown>): Promise<void> {
      const running = await stage.start(kind.toWorkload(input), machine)
      try {
        await running.ready()
        await act(running)
      } finally {
        await running.stop()
      }
    }

    function connectionString(secret = machine.secrets.password!): string {
      const parts = kind.variables(databaseFromHere(input), '').DATABASE_URL as readonly (string | { encode?: 'url' })[]
      return parts.map((part) => (typeof part === 'string' ? part : encodeURIComponent(secret))).join('')
    }
  })
}

/** References of a later version, as the service makes them after a rotation. */
function secretOf(version: number): DatabaseInput['secret'] {
  return (name, encode) => [{ secret: name, version, ...(encode ? { encode } : {}) }]
}

async function withClient(connectionString: string, act: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString })
  try {
    await client.connect()
    await act(client)
  } finally {
    await client.end()
  }
}
