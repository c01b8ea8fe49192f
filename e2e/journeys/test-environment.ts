import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Client } from 'pg'
import { copyPackage, exists } from '../support/packages.ts'
import { type Service, type ServiceOptions, until } from '../support/service.ts'
import { giveToProjects, makeSourceRoot, type SourceRoot } from '../support/source-root.ts'

/** What differs between engines in a journey that is the same on all of them. */
export interface TestEnvironmentPlace<S extends Service> {
  readonly title: string
  open(options: ServiceOptions): Promise<S>
  /** Of a Node.js project with a PostgreSQL named `main`. */
  readonly settings: object
  /** The folder of the machine in which a project's kept data stands. */
  dataOf(service: S, project: string): Promise<string>
  /** Fails when databases of a run, their data, their logs or any file that was made for them are still there. */
  nothingLeftOf(service: S, run: string): Promise<void>
}

export function testEnvironmentJourney<S extends Service>(place: TestEnvironmentPlace<S>): void {
  const { title, open, settings, dataOf, nothingLeftOf } = place
  describe(title, () => {
    let service: S
    let root: SourceRoot
    let folder: string
    let project: string
    before(async () => {
      root = await makeSourceRoot()
      service = await open({ roots: root.path })
      folder = await root.folder('shop', {
        'package.json': JSON.stringify({ name: 'shop', type: 'module', scripts }),
        'shop.test.js': destroysEverything,
        'slow/slow.test.js': waitsForAWord,
      })
      await copyPackage('pg', folder)
      await giveToProjects(folder)
      const made = await service.client.call('createProject', {
        body: { ...settings, name: 'Shop', path: folder },
        query: { wait: 170 },
      })
      assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
      project = made.id
      await withDatabase((client) =>
        client.query(`CREATE TABLE orders (id int PRIMARY KEY, what text);
          INSERT INTO orders SELECT n, md5(n::text) FROM generate_series(1, 1000) n`),
      )
      // Written by hand, with the port of development: it must not lead there either.
      const { url } = await credentials()
      await service.client.call('updateProject', {
        params: { id: 'shop' },
        body: { env: { MY_DATABASE: url, DATABASE_URL: url } } as object,
        query: { wait: 60 },
      })
    })
    after(async () => {
      await service?.close()
      await root?.remove()
    })

    it('so that tests which delete every table and the database itself change nothing in development', {
      timeout: 180_000,
    }, async () => {
      const rows = await rowsOfDevelopment()
      assert.equal(rows.length, 1000)
      const run = await runTests()
      assert.equal(run.state, 'succeeded', await outputOf(run.id))
      assert.equal(run.tests?.passed, 3)
      assert.deepEqual(await rowsOfDevelopment(), rows)
      const seen = JSON.parse(await readFile(join(folder, 'seen.json'), 'utf8'))
      const { port, password } = await credentials()
      for (const name of ['DATABASE_URL', 'MY_DATABASE', 'DATABASE_PORT', 'PGPORT'])
        assert.ok(!String(seen[name]).includes(String(port)), `${name} names the port of development`)
      assert.ok(!String(seen.DATABASE_URL).includes(password), 'it has a password of its own')
      await nothingLeftOf(service, run.id)
    })

    it('also while the project is stopped, and its data stays the same byte for byte', {
      timeout: 180_000,
    }, async () => {
      const stopped = await service.client.call('stopProject', { params: { id: 'shop' }, query: { wait: 60 } })
      assert.equal(stopped.state, 'succeeded')
      const data = await dataOf(service, project)
      const before = await hashOf(data)
      const run = await runTests()
      assert.equal(run.state, 'succeeded', await outputOf(run.id))
      assert.equal(await hashOf(data), before)
      const { status } = await service.client.call('getProject', { params: { id: 'shop' } })
      assert.equal(status.state, 'stopped')
      await nothingLeftOf(service, run.id)
    })

    it('and two runs at once never meet', { timeout: 180_000 }, async () => {
      const runs = await Promise.all([runTests('test'), runTests('test:again')])
      for (const run of runs) assert.equal(run.state, 'succeeded', await outputOf(run.id))
      for (const run of runs) await nothingLeftOf(service, run.id)
    })

    it('which stays for a run that goes on while the service is killed, and goes at its end', {
      timeout: 180_000,
    }, async () => {
      const suite = await suiteId('test:slow')
      const { id } = await service.client.call('runTests', { params: { id: 'shop', suite } })
      await until(() => exists(join(folder, 'slow', 'waiting')), 'the test to wait', 60_000)
      await service.kill()
      await service.start()
      await writeFile(join(folder, 'slow', 'word'), 'go')
      await until(async () => (await runOf(id)).finishedAt !== null, 'the run to end', 60_000)
      const run = await runOf(id)
      assert.equal(run.state, 'succeeded', await outputOf(id))
      await nothingLeftOf(service, id)
    })

    const credentials = async () => {
      const answer = await service.client.call('getDatabaseCredentials', { params: { id: 'shop', db: 'main' } })
      return answer as unknown as { url: string; port: number; password: string }
    }
    const withDatabase = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
      const client = new Client((await credentials()).url)
      await client.connect()
      try {
        return await work(client)
      } finally {
        await client.end()
      }
    }
    const rowsOfDevelopment = async () =>
      withDatabase(async (client) => (await client.query('SELECT * FROM orders ORDER BY id')).rows)
    const suiteId = async (script: string) => {
      const { suites } = await service.client.call('listTests', { params: { id: 'shop' } })
      const suite = suites.find(({ label }) => label.includes(`(${script})`))
      assert.ok(suite, JSON.stringify(suites))
      return suite.id
    }
    const runTests = async (script = 'test') =>
      service.client.call('runTests', { params: { id: 'shop', suite: await suiteId(script) }, query: { wait: 120 } })
    const runOf = (id: string) => service.client.call('getRun', { params: { id: 'shop', run: id } })
    const outputOf = async (id: string) =>
      JSON.stringify(await runOf(id)) +
      String(await service.client.call('getRunOutput', { params: { id: 'shop', run: id } }).catch(() => ''))
  })
}

const scripts = {
  test: 'node --test shop.test.js',
  'test:again': 'node --test shop.test.js',
  'test:slow': 'node --test slow/slow.test.js',
}

const destroysEverything = `import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import pg from 'pg'

const connect = async (how) => {
  const client = new pg.Client(how)
  // The last test drops the database under those that are connected.
  client.on('error', () => {})
  await client.connect()
  return client
}

test('the database is there and empty', async () => {
  const { DATABASE_URL, DATABASE_PORT, MY_DATABASE, PGPORT } = process.env
  writeFileSync('seen.json', JSON.stringify({ DATABASE_URL, DATABASE_PORT, MY_DATABASE, PGPORT }))
  const client = await connect(DATABASE_URL)
  const { rows } = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
  assert.deepEqual(rows, [])
  await client.query('CREATE TABLE orders (id int)')
  await client.end()
})
test('every table can be dropped', async () => {
  const client = await connect()
  await client.query('DROP SCHEMA public CASCADE')
  await client.query('CREATE SCHEMA public')
  await client.end()
})
test('the database itself can be dropped', async () => {
  const client = await connect({ database: 'template1' })
  await client.query('DROP DATABASE "' + process.env.PGDATABASE + '" WITH (FORCE)')
  await client.end()
})
`

const waitsForAWord = `import { existsSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

test('the database is there before and after a long wait', async () => {
  const client = new pg.Client()
  await client.connect()
  await client.query('CREATE TABLE waited (id int)')
  writeFileSync(new URL('waiting', import.meta.url), '')
  while (!existsSync(new URL('word', import.meta.url))) await delay(50)
  await client.query('INSERT INTO waited VALUES (1)')
  const other = new pg.Client()
  await other.connect()
  await other.query('SELECT * FROM waited')
  await other.end()
  await client.end()
})
`

async function hashOf(folder: string): Promise<string> {
  const hash = createHash('sha256')
  const files = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  assert.ok(files.length > 100, 'there is data to compare')
  for (const file of files.sort()) hash.update(`${file}\n`).update(await readFile(file))
  return hash.digest('hex')
}
