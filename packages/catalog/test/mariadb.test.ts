import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ChosenToolchain, type DatabaseInput, databaseTypeOf } from '@stackquay/catalog'
import { revealValue } from '@stackquay/engine-api'
import { databaseInput } from './support/inputs.ts'
import { mariadbJourneys } from './support/mariadb-journeys.ts'
import { listening, type Machine, type Running, runJob, start } from './support/run-workload.ts'
import { nativeStage, type Stage } from './support/stage.ts'

const kind = databaseTypeOf('mariadb')!
const password = `it's "quoted" $HOME \\ %41 #@/ é`

describe('A MariaDB database', () => {
  const input = databaseInput({
    name: 'mariadb-reports_2024',
    database: 'reports_2024',
    username: 'reports_2024',
    version: '11.4',
    toolchain: { version: '11.4.7', program: '/opt/mariadb/bin/mariadbd', directory: '/opt/mariadb/bin' },
  })

  test('runs one server that reads no configuration of the machine and listens where it was told alone', () => {
    const { run, ports, health, stop, data } = kind.toWorkload({
      ...input,
      bind: '0.0.0.0',
      listen: { ...input.listen, address: '0.0.0.0' },
    })
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
    const spec = kind.toWorkload(input)
    assert.deepEqual(spec.env, { ACCOUNT_PASSWORD: [{ secret: 'password', version: 1 }] })
    assert.ok(spec.run.argv.every((word) => typeof word === 'string'))
    assert.equal(spec.setup.length, 1)
    assert.equal(spec.setup[0]!.stdin, undefined)
    assert.notDeepEqual(kind.toWorkload({ ...input, secret: secretOf(2) }).env, spec.env)
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
      assert.match(kind.nameBlocker(name)!, /^MariaDB keeps the name/)
    for (const name of ['main', 'mysql2', 'test', 'system']) assert.equal(kind.nameBlocker(name), null)
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

mariadbJourneys('with the host’s program', () => nativeStage(kind, toolchain()))

describe('A MariaDB server among the processes of a machine', () => {
  let stage: Stage
  let machine: Machine
  let input: DatabaseInput

  before(async () => {
    stage = nativeStage(kind, toolchain())
    machine = stage.project('mariadb-main', { password })
    input = await stage.database({ name: 'mariadb-main' })
    const { code, output } = await stage.runJob(kind.toWorkload(input).setup[0]!, machine)
    assert.equal(code, 0, output)
  })

  after(() => stage.close())

  test('is found by the client program of the host without being told', async () => {
    await withServer(async () => {
      const variables = Object.entries(kind.variables(input, '')).filter(([name]) => name.startsWith('MYSQL_'))
      const env = Object.fromEntries(
        await Promise.all(
          variables.map(async ([name, value]) => [name, await revealValue(value, async () => password)]),
        ),
      )
      const args = ['--no-defaults', '--user=shop', '--batch', '--skip-column-names', '--execute=SELECT 40 + 2']
      const client = join(dirname(dirname(input.toolchain.program)), 'bin', 'mariadb')
      const { stdout, stderr } = spawnSync(client, args, { encoding: 'utf8', env })
      assert.equal(stdout.trim(), '42', stderr)
    })
  })

  test('shows its password to nobody who looks at it', async () => {
    await withServer(async (running) => {
      const { pid } = running.child
      if (!existsSync(`/proc/${pid}`)) return
      const seen = ['environ', 'cmdline'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8')).join('')
      assert.match(seen, /mariadbd/)
      assert.doesNotMatch(seen, /quoted"|ACCOUNT_PASSWORD/)
    })
  })

  test('says what is missing when only the server is installed', async () => {
    const directory = join(machine.data['mariadb-main']!, 'half', 'bin')
    mkdirSync(directory, { recursive: true })
    const half = { ...input.toolchain, program: join(directory, 'mariadbd'), directory }
    const job = kind.toWorkload({ ...input, name: 'mariadb-half', toolchain: half }).setup[0]!
    const { code, output } = await runJob(job, { ...machine, data: { 'mariadb-half': dirname(directory) } })
    assert.equal(code, 1)
    assert.match(output, /mariadb-install-db is missing below .*half\. Install the whole of MariaDB Server\./)
  })

  async function withServer(act: (running: Running) => Promise<void>): Promise<void> {
    const running = await start(kind.toWorkload(input), machine)
    try {
      await listening(running, input.hostPort, 60)
      await act(running)
    } finally {
      await running.stop()
    }
  }
})

function toolchain(): ChosenToolchain {
  const program = kind.toolchain.places.flatMap((place) => globSync(place))[0]
  assert.ok(program, `These tests need MariaDB: ${kind.install.debian}`)
  const printed = spawnSync(program, kind.toolchain.versionArgs, { encoding: 'utf8' }).stdout
  const version = new RegExp(kind.toolchain.versionPattern).exec(printed)?.[1]
  assert.ok(version, printed)
  return { version, program, directory: dirname(program) }
}

/** References of a later version, as the service makes them after a rotation. */
function secretOf(version: number): DatabaseInput['secret'] {
  return (name, encode) => [{ secret: name, version, ...(encode ? { encode } : {}) }]
}
