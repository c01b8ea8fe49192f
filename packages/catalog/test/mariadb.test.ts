import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type DatabaseInput, databaseKindOf } from '@stackquay/catalog'
import { revealValue, type Value } from '@stackquay/engine-api'
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'
import { databaseInput } from './support/inputs.ts'
import { freePort, listening, type Machine, type Running, runJob, start } from './support/run-draft.ts'

const kind = databaseKindOf('mariadb')!
const password = `it's "quoted" $HOME \\ %41 #@/ é`
const rotated = `new'; \\' -- $1 \`id\` ü\\`

describe('A MariaDB database', () => {
  const input = databaseInput({
    name: 'mariadb-reports_2024',
    database: 'reports_2024',
    username: 'reports_2024',
    version: '11.4',
    toolchain: { version: '11.4.7', program: '/opt/mariadb/bin/mariadbd', directory: '/opt/mariadb/bin' },
  })

  test('runs one server that reads no configuration of the machine and listens where it was told alone', () => {
    const { run, ports, health, stop, data } = kind.toWorkload({ ...input, bind: '0.0.0.0' })
    const options = run.argv.slice(run.argv.indexOf('/opt/mariadb/bin/mariadbd') + 1)
    assert.equal(options[0], '--no-defaults')
    for (const option of [
      '--basedir=/opt/mariadb',
      '--datadir={data:mariadb-reports_2024}/server',
      '--port=25432',
      '--bind-address=0.0.0.0',
      '--socket=',
      '--skip-name-resolve',
      '--innodb-flush-log-at-trx-commit=1',
      '--loose-feedback=OFF',
    ])
      assert.ok(options.includes(option), option)
    assert.deepEqual(ports, [{ name: 'mariadb', port: 25432, hostPort: 25432, bind: '0.0.0.0' }])
    assert.deepEqual(health, { kind: 'tcp', port: 'mariadb', timeoutSeconds: 300 })
    assert.equal(stop.signal, 'SIGTERM')
    assert.deepEqual(data, [{ name: 'mariadb-reports_2024' }])
  })

  test('gives the password to its start alone, and a new version of it makes another workload', () => {
    const draft = kind.toWorkload(input)
    assert.deepEqual(draft.env, { ACCOUNT_PASSWORD: [{ secret: 'password', version: 1 }] })
    assert.ok(draft.run.argv.every((word) => typeof word === 'string'))
    assert.equal(draft.setup.length, 1)
    assert.equal(draft.setup[0]!.stdin, undefined)
    assert.notDeepEqual(kind.toWorkload({ ...input, secret: secretOf(2) }).env, draft.env)
  })

  test('tells runtimes where it is, and the client programs of the first database too', () => {
    const first = kind.variables(input, '')
    assert.deepEqual(first, {
      DATABASE_URL: [
        'mysql://reports_2024:',
        { secret: 'password', version: 1, encode: 'url' },
        '@127.0.0.1:25432/reports_2024',
      ],
      DATABASE_HOST: '127.0.0.1',
      DATABASE_PORT: '25432',
      DATABASE_NAME: 'reports_2024',
      DATABASE_USER: 'reports_2024',
      DATABASE_PASSWORD: [{ secret: 'password', version: 1 }],
      MYSQL_HOST: '127.0.0.1',
      MYSQL_TCP_PORT: '25432',
      MYSQL_PWD: [{ secret: 'password', version: 1 }],
    })
    assert.deepEqual(
      Object.keys(kind.variables(input, 'REPORTS_')),
      ['URL', 'HOST', 'PORT', 'NAME', 'USER', 'PASSWORD'].map((part) => `REPORTS_DATABASE_${part}`),
    )
    const { url, password: secret, ...plain } = kind.credentials(input)
    assert.deepEqual(url, first.DATABASE_URL)
    assert.deepEqual(secret, first.DATABASE_PASSWORD)
    assert.deepEqual(plain, {
      host: '127.0.0.1',
      port: 25432,
      hostPort: 25432,
      database: 'reports_2024',
      username: 'reports_2024',
    })
  })

  test('cannot have a name that every server has already', () => {
    for (const name of ['mysql', 'sys', 'information_schema', 'performance_schema', 'root'])
      assert.match(kind.nameObstacle(name)!, /^MariaDB keeps the name/)
    for (const name of ['main', 'mysql2', 'test', 'system']) assert.equal(kind.nameObstacle(name), null)
  })

  test('counts its release lines by two numbers', () => {
    assert.deepEqual(['10.11.19', '11.4.7', '11.8.3', '12.0.2'].map(kind.lineOf), ['10.11', '11.4', '11.8', '12.0'])
    for (const { version } of kind.releases) assert.equal(kind.lineOf(`${version}.9`), version)
  })

  test('is never run by MySQL’s server of the same name', () => {
    const pattern = new RegExp(kind.toolchain.versionPattern, 'm')
    const of = (text: string) => pattern.exec(text)?.[1]
    assert.equal(of('/usr/sbin/mysqld  Ver 10.6.22-MariaDB-0ubuntu0.22.04.1 for debian-linux-gnu on x86_64'), '10.6.22')
    assert.equal(of('mariadbd from 11.8.3-MariaDB, client 15.2 for Linux'), undefined)
    assert.equal(of('/usr/sbin/mysqld  Ver 8.4.6 for Linux on x86_64 (MySQL Community Server - GPL)'), undefined)
    assert.equal(of('/usr/sbin/mysqld  Ver 8.0.43-0ubuntu0.24.04.1 for Linux on x86_64 ((Ubuntu))'), undefined)
  })
})

describe('A MariaDB database with the host’s program', () => {
  const uid = process.getuid?.() === 0 ? nobody() : undefined
  const line = () => kind.lineOf(input.toolchain.version)
  const server = () => join(data, 'server')
  const initJob = () => kind.toWorkload(input).setup[0]!
  let folder: string
  let data: string
  let machine: Machine
  let input: DatabaseInput

  before(async () => {
    const program = kind.toolchain.places.flatMap((place) => globSync(place))[0]
    assert.ok(program, `These tests need MariaDB: ${kind.install.debian}`)
    const printed = spawnSync(program, kind.toolchain.versionArgs, { encoding: 'utf8' }).stdout
    const version = new RegExp(kind.toolchain.versionPattern).exec(printed)?.[1]
    assert.ok(version, printed)
    folder = await mkdtemp(join(tmpdir(), 'stackquay-mariadb-'))
    await chmod(folder, 0o755)
    data = join(folder, 'kept data')
    mkdirSync(data, { mode: 0o700 })
    if (uid !== undefined) chownSync(data, uid, uid)
    machine = { data: { 'mariadb-main_1': data }, secrets: { password }, ...(uid ? { uid } : {}) }
    input = databaseInput({
      name: 'mariadb-main_1',
      database: 'main_1',
      username: 'main_1',
      hostPort: await freePort(),
      toolchain: { version, program, directory: dirname(program) },
    })
  })

  after(() => rmSync(folder, { recursive: true, force: true }))

  test('leaves nothing behind that the next attempt would trip over when its creation is killed', async () => {
    for (const milliseconds of [30, 150, 300]) {
      const [program = '', ...args] = initJob().argv.map((word) => word.replaceAll('{data:mariadb-main_1}', data))
      const child = spawn(program, args, {
        cwd: data,
        detached: true,
        stdio: 'ignore',
        ...(uid ? { uid, gid: uid } : {}),
      })
      const ended = once(child, 'close')
      await new Promise((resolve) => setTimeout(resolve, milliseconds))
      process.kill(-child.pid!, 'SIGKILL')
      await ended
      assert.equal(existsSync(server()), false, `killed after ${milliseconds} ms`)
    }
    const { code, output } = await runJob(initJob(), machine)
    assert.equal(code, 0, output)
    assert.equal(readFileSync(join(server(), 'release'), 'utf8').trim(), line())
    assert.deepEqual(readdirSync(data), ['server'])
  })

  test('is not touched when its creation runs once more', async () => {
    const before = statSync(join(server(), 'ibdata1')).mtimeMs
    const { code, output } = await runJob(initJob(), machine)
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
      assert.match(running.output(), /socket: ''/)
    })
  })

  test('is found by the client program of the host without being told', async () => {
    await withServer(async () => {
      const variables = Object.entries(kind.variables(input, '')).filter(([name]) => name.startsWith('MYSQL_'))
      const env = Object.fromEntries(
        await Promise.all(variables.map(async ([name, value]) => [name, await text(value)])),
      )
      const args = ['--no-defaults', '--user=main_1', '--batch', '--skip-column-names', '--execute=SELECT 40 + 2']
      const client = join(dirname(dirname(input.toolchain.program)), 'bin', 'mariadb')
      const { stdout, stderr } = spawnSync(client, args, { encoding: 'utf8', env })
      assert.equal(stdout.trim(), '42', stderr)
    })
  })

  test('keeps its password where its data is, as private', async () => {
    const { mode } = statSync(join(data, 'account.sql'))
    assert.equal(mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(data).sort(), ['account.sql', 'server'])
    await withServer(async (running) => {
      const { pid } = running.child
      if (!existsSync(`/proc/${pid}`)) return
      const seen = ['environ', 'cmdline'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8')).join('')
      assert.match(seen, /mariadbd/)
      assert.doesNotMatch(seen, /quoted"|ACCOUNT_PASSWORD/)
    })
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
      const running = await start(kind.toWorkload(input), machine)
      await new Promise((resolve) => setTimeout(resolve, milliseconds))
      await running.stop('SIGKILL')
    }
    const after = await withServer(async (running) => {
      await assert.rejects(
        withClient(await url(password), async () => {}),
        { code: 'ER_ACCESS_DENIED_ERROR' },
      )
      assert.doesNotMatch(running.output(), /new'|ERROR/)
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
    const running = await start(other, machine)
    await assert.rejects(
      listening(running, input.hostPort, 10),
      new RegExp(`written by MariaDB ${line()}.*Choose version ${line()} again`),
    )
    await running.stop()
  })

  test('says what is missing when only the server is installed', async () => {
    const directory = join(folder, 'half', 'bin')
    mkdirSync(directory, { recursive: true })
    const half = { ...input.toolchain, program: join(directory, 'mariadbd'), directory }
    const job = kind.toWorkload({ ...input, name: 'mariadb-half', toolchain: half }).setup[0]!
    const { code, output } = await runJob(job, { ...machine, data: { 'mariadb-half': join(folder, 'half') } })
    assert.equal(code, 1)
    assert.match(output, /mariadb-install-db is missing below .*half\. Install the whole of MariaDB Server\./)
  })

  async function withServer<T>(act: (running: Running) => Promise<T>): Promise<T> {
    const running = await start(kind.toWorkload(input), machine)
    try {
      await listening(running, input.hostPort, 60)
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

  const url = (secret?: string) => text(kind.variables(input, '').DATABASE_URL!, secret)

  function text(value: Value, secret = machine.secrets.password!): Promise<string> {
    return revealValue(value, async () => secret)
  }
})

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

function nobody(): number {
  return Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout.trim())
}
