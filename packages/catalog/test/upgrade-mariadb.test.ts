import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type DatabaseInput, databaseTypeOf, type UpgradeInPlace } from '@stackquay/catalog'
import mysql from 'mysql2/promise'
import { begin } from './support/backups.ts'
import type { Machine } from './support/run-workload.ts'
import { nativeStage, type Stage } from './support/stage.ts'
import { killAfter } from './support/upgrades.ts'

const kind = databaseTypeOf('mariadb')!
const method = kind.upgrade as UpgradeInPlace<DatabaseInput>
const name = 'mariadb-main'
const program = '/usr/sbin/mariadbd'
assert.ok(existsSync(program), 'Install MariaDB: apt-get install -y mariadb-server')
const password = 'old $ecret'

/** A machine has one MariaDB, so the line that wrote the data is one that only the file `release` knows. */
describe('The upgrade of a MariaDB in place', { concurrency: 1 }, () => {
  let stage: Stage
  let machine: Machine
  let input: DatabaseInput

  before(async () => {
    stage = nativeStage(kind, { version: '10.11.1', program, directory: '/usr/sbin' })
    machine = stage.project(name, { password })
    input = await stage.database({ name, username: 'main', database: 'main' })
    for (const job of kind.toWorkload(input).setup) {
      const { code, output } = await stage.runJob(job, machine)
      assert.equal(code, 0, output)
    }
    await withServer((sql) => sql('CREATE TABLE book AS SELECT 1 AS n, "one" AS title'))
  })
  after(() => stage?.close())

  async function withServer<T>(act: (ask: (sql: string) => Promise<unknown>) => Promise<T>): Promise<T> {
    const running = await stage.start(kind.toWorkload(input), machine)
    try {
      await running.ready()
      const connection = await mysql.createConnection({
        ...{ host: '127.0.0.1', port: input.hostPort, user: 'main', password, database: 'main' },
      })
      try {
        return await act(async (sql) => (await connection.query(sql))[0])
      } finally {
        await connection.end()
      }
    } finally {
      await running.stop()
    }
  }

  const release = () => join(machine.data[name]!, 'server', 'release')
  const convert = async () => {
    const running = await begin(method.convert({ old: input, next: input }), machine)
    running.child.stdout!.resume()
    await running.succeeded()
  }

  test('converts what another line wrote, and is killed at any moment without harm', { timeout: 120_000 }, async () => {
    writeFileSync(release(), '10.6\n')
    await assert.rejects(
      withServer(async () => undefined),
      /written by MariaDB 10\.6/,
    )
    for (const milliseconds of [50, 300, 900, 1500])
      await killAfter(method.convert({ old: input, next: input }), machine, milliseconds)
    writeFileSync(release(), '10.6\n')
    await convert()
    assert.equal(readFileSync(release(), 'utf8').trim(), '10.11')
    await convert()
    assert.deepEqual(await withServer((ask) => ask('SELECT n, title FROM book')), [{ n: 1, title: 'one' }])
  })

  test('nobody can log in as its administrator afterwards', async () => {
    await withServer(async () => {
      const asRoot = { host: '127.0.0.1', port: input.hostPort, user: 'root' }
      await assert.rejects(mysql.createConnection(asRoot), /Access denied|locked/)
    })
  })

  test('says which program is missing', async () => {
    writeFileSync(release(), '10.6\n')
    const program = method.convert({ old: input, next: input })
    const argv = program.argv.map((word) => (word === 'mariadb-upgrade' ? 'no-such-upgrade' : word)) as [string]
    const running = await begin({ ...program, argv }, machine)
    running.child.stdout!.resume()
    await assert.rejects(running.succeeded(), /ended with 69: The program no-such-upgrade is not on this machine/)
  })
})
