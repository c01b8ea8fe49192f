import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { type DatabaseInput, databaseTypeOf } from '@stackquay/catalog'
import { readerPassword } from '../src/browse/reader.ts'
import { databaseInput } from './support/inputs.ts'
import { type Machine, runJob, start } from './support/run-workload.ts'

const kind = databaseTypeOf('mysql')!
const password = `it's "quoted" $HOME \\ %41 #@/ é`

describe('A MySQL database', () => {
  const input = databaseInput({
    name: 'mysql-main',
    username: 'main',
    version: '8.4',
    toolchain: { version: '8.4.6', program: '/usr/sbin/mysqld', directory: '/usr/sbin' },
  })

  test('runs one server that reads no configuration of the machine and listens where it was told alone', () => {
    const { run, ports, health, stop, data } = kind.toWorkload(input)
    const options = run.argv.slice(run.argv.indexOf('/usr/sbin/mysqld') + 1)
    assert.deepEqual(options, [
      '--no-defaults',
      '--datadir={data:mysql-main}/server',
      '--init-file={data:mysql-main}/account.sql',
      '--port=25432',
      '--bind-address=127.0.0.1',
      '--socket=',
      '--pid-file=server.pid',
      '--skip-name-resolve',
      '--character-set-server=utf8mb4',
      '--innodb-flush-log-at-trx-commit=1',
      '--skip-log-bin',
      '--loose-mysqlx=OFF',
      '--secure-file-priv=NULL',
    ])
    assert.deepEqual(ports, [{ name: 'mysql', port: 25432, hostPort: 25432, bind: '127.0.0.1' }])
    assert.deepEqual(health, { kind: 'tcp', port: 'mysql', timeoutSeconds: 300 })
    assert.equal(stop.signal, 'SIGTERM')
    assert.deepEqual(data, [{ name: 'mysql-main' }])
  })

  test('makes its data once, with the options the server runs with', () => {
    const [job, ...more] = kind.toWorkload(input).setup
    assert.equal(more.length, 0)
    assert.deepEqual(job!.argv.slice(job!.argv.indexOf('/usr/sbin/mysqld') + 1), [
      '--no-defaults',
      '--initialize-insecure',
      '--datadir={data:mysql-main}/server.new',
      '--character-set-server=utf8mb4',
      '--loose-mysqlx=OFF',
      '--secure-file-priv=NULL',
    ])
    assert.deepEqual([job!.once, job!.creates], [true, '{data:mysql-main}/server'])
  })

  test('tells runtimes and credentials the URL that clients take', () => {
    const { DATABASE_URL, MYSQL_PWD } = kind.variables(input, '')
    assert.deepEqual(DATABASE_URL, [
      'mysql://main:',
      { secret: 'password', version: 1, encode: 'url' },
      '@127.0.0.1:25432/main',
    ])
    assert.deepEqual(MYSQL_PWD, [{ secret: 'password', version: 1 }])
    assert.deepEqual(kind.credentials(input).url, DATABASE_URL)
  })

  test('cannot have a name that every server has already', () => {
    for (const name of ['mysql', 'sys', 'information_schema', 'performance_schema', 'root'])
      assert.match(kind.nameBlocker(name)!, /^MySQL keeps the name/)
    assert.equal(kind.nameBlocker('main'), null)
  })

  test('counts its release lines by two numbers', () => {
    assert.deepEqual(['8.4.6', '8.0.43', '9.7.0'].map(kind.lineOf), ['8.4', '8.0', '9.7'])
    for (const { version } of kind.releases) assert.equal(kind.lineOf(`${version}.9`), version)
  })

  test('is never run by MariaDB’s server of the same name', () => {
    const pattern = new RegExp(kind.toolchain.versionPattern, 'm')
    const of = (text: string) => pattern.exec(text)?.[1]
    assert.equal(of('/usr/sbin/mysqld  Ver 8.0.43-0ubuntu0.24.04.1 for Linux on x86_64 ((Ubuntu))'), '8.0.43')
    assert.equal(of('mysqld  Ver 8.4.6 for macos15.4 on arm64 (Homebrew)'), '8.4.6')
    assert.equal(of('mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)'), undefined)
    assert.equal(of('/usr/sbin/mysqld  Ver 10.6.22-MariaDB-log for Linux on x86_64'), undefined)
  })
})

describe('A MySQL database with a stand-in program that writes down how it is called', () => {
  const uid = process.getuid?.() === 0 ? nobody() : undefined
  let folder: string
  let data: string
  let machine: Machine
  let input: DatabaseInput

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stackquay-mysql-'))
    await chmod(folder, 0o755)
    data = join(folder, 'kept data')
    mkdirSync(data, { mode: 0o700 })
    if (uid !== undefined) chownSync(data, uid, uid)
    machine = { data: { 'mysql-main': data }, secrets: { password }, ...(uid ? { uid } : {}) }
    const program = join(folder, 'mysqld')
    writeFileSync(program, standIn, { mode: 0o755 })
    input = databaseInput({
      name: 'mysql-main',
      username: 'main',
      toolchain: { version: '8.4.6', program, directory: dirname(program) },
    })
  })

  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  test('makes its data beside the final place, moves it there, and never touches it again', async () => {
    mkdirSync(join(data, 'server.new'))
    if (uid !== undefined) chownSync(join(data, 'server.new'), uid, uid)
    writeFileSync(join(data, 'server.new', 'half'), '')
    const job = kind.toWorkload(input).setup[0]!
    const first = await runJob(job, machine)
    assert.equal(first.code, 0, first.output)
    assert.deepEqual(readdirSync(data), ['server'])
    assert.deepEqual(readdirSync(join(data, 'server')).sort(), ['made', 'release'])
    assert.equal(readFileSync(join(data, 'server', 'release'), 'utf8'), '8.4\n')
    const second = await runJob(job, machine)
    assert.deepEqual([second.code, second.output.trim()], [0, 'The database is there already.'])
  })

  test('leaves nothing under the final name when making it fails', async () => {
    writeFileSync(join(folder, 'fail'), '')
    const { code, output } = await runJob(kind.toWorkload(input).setup[0]!, machine)
    assert.equal(code, 1, output)
    assert.equal(existsSync(join(data, 'server')), false)
  })

  test('sets the password in what the server reads before it takes a connection, and tells it to nobody else', async () => {
    await runJob(kind.toWorkload(input).setup[0]!, machine)
    const seen = await startOnce()
    assert.match(seen, /^argument --no-defaults\n/)
    assert.doesNotMatch(seen, /quoted"|ACCOUNT_PASSWORD/)
    assert.deepEqual(readFileSync(join(data, 'account.sql'), 'utf8').trimEnd().split('\n'), [
      'CREATE DATABASE IF NOT EXISTS `main` CHARACTER SET utf8mb4;',
      `CREATE USER IF NOT EXISTS 'main'@'%' IDENTIFIED BY 'it''s "quoted" $HOME \\\\ %41 #@/ é';`,
      `ALTER USER 'main'@'%' IDENTIFIED BY 'it''s "quoted" $HOME \\\\ %41 #@/ é';`,
      "GRANT ALL PRIVILEGES ON `main`.* TO 'main'@'%';",
      "ALTER USER IF EXISTS 'root'@'localhost' ACCOUNT LOCK;",
      `CREATE USER IF NOT EXISTS 'stackquay_reader'@'%' IDENTIFIED BY '${readerPassword(password)}';`,
      `ALTER USER 'stackquay_reader'@'%' IDENTIFIED BY '${readerPassword(password)}';`,
      "REVOKE ALL PRIVILEGES, GRANT OPTION FROM 'stackquay_reader'@'%';",
      "GRANT SELECT, SHOW VIEW ON `main`.* TO 'stackquay_reader'@'%';",
    ])
    machine = { ...machine, secrets: { password: 'rotated' } }
    await startOnce()
    const sql = readFileSync(join(data, 'account.sql'), 'utf8')
    assert.match(sql, /ALTER USER 'main'@'%' IDENTIFIED BY 'rotated';/)
    assert.doesNotMatch(sql, /quoted"/)
  })

  test('escapes a name that a grant would take for a pattern', async () => {
    input = { ...input, database: 'shop_main' }
    await runJob(kind.toWorkload(input).setup[0]!, machine)
    await startOnce()
    assert.match(readFileSync(join(data, 'account.sql'), 'utf8'), /^GRANT ALL PRIVILEGES ON `shop\\_main`\.\* TO/m)
  })

  test('says which version wrote the data when another is chosen', async () => {
    await runJob(kind.toWorkload(input).setup[0]!, machine)
    input = { ...input, toolchain: { ...input.toolchain, version: '8.0.43' } }
    assert.match(await startOnce(1), /written by MySQL 8\.4 and is not opened by 8\.0\. Choose version 8\.4 again\./)
  })

  async function startOnce(expected = 0): Promise<string> {
    const running = await start(kind.toWorkload(input), machine)
    const [code] = (await new Promise<unknown[]>((resolve) =>
      running.child.once('close', (...result) => resolve(result)),
    )) as [number]
    assert.equal(code, expected, running.output())
    return running.output()
  }
})

/** Does no more than the documentation says of making data, and ends at once instead of serving. */
const standIn = `#!/bin/sh
for word; do echo "argument $word"; done
env
for word; do
  case $word in --datadir=*) datadir=\${word#--datadir=} ;; esac
done
case " $* " in
  *" --initialize-insecure "*)
    [ ! -e "$(dirname "$0")/fail" ] || exit 1
    # An existing directory must be empty.
    [ ! -e "$datadir" ] || exit 1
    mkdir "$datadir" && echo data > "$datadir/made"
    ;;
  *) [ -e "$datadir/made" ] ;;
esac
`

function nobody(): number {
  return Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout.trim())
}
