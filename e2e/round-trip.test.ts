import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backup } from '@stackquay/contract'
import { assembleOpenSearch } from '@stackquay/testkit/opensearch-program'
import { isSoak, rounds } from '@stackquay/testkit/rounds'
import { fill, treeOf } from './support/project-files.ts'
import { databaseClient, type RealClient, serviceClients } from './support/real-clients.ts'
import { type Service, startService, until } from './support/service.ts'
import { startTargetStorage, type TargetStorage } from './support/target-storage.ts'

const id = 'shop'
const secret = 'öffnet $alles\n'
const databases = {
  main: { type: 'postgresql' },
  old: { type: 'postgresql', version: '15' },
  stock: { type: 'mariadb' },
}
const services = ['redis', 'rabbitmq', 'storage', 'mailpit', 'opensearch']
const rules = {
  signIn: false,
  allowIps: [],
  basicAuth: null,
  redirects: [],
  requestHeaders: [],
  responseHeaders: [{ name: 'X-Kept', value: 'yes' }],
  cors: null,
}

/**
 * One project with every kind of data, backed up while all of it is written; the machine is lost with home and secret key; a bucket and a
 * passphrase bring it back on another.
 */
describe('a project with everything, its machine lost', () => {
  // Where its program is looked for.
  const withSearch = { env: { PATH: `${join(assembleOpenSearch(), 'bin')}${delimiter}${process.env.PATH}` } }
  let service: Service
  let bucket: TargetStorage

  before(async () => {
    bucket = await startTargetStorage()
    service = await startService(withSearch)
  })
  after(async () => {
    await service?.close()
    await bucket?.end()
  })

  const clients = (): readonly RealClient[] => {
    const all = serviceClients(service, id)
    return [
      ...services.map((name) => all[name]!),
      ...Object.entries(databases).map(([name, { type }]) => databaseClient(service, id, type, name)),
    ]
  }

  it('comes back from a bucket with all that was acknowledged before its backup began', {
    timeout: 900_000,
  }, async (t) => {
    const made = await service.client.call('createProject', {
      body: {
        name: 'Shop',
        databases,
        ...Object.fromEntries(
          ['static', ...services].map((name) => [name, name === 'opensearch' ? { heap: 256 } : {}]),
        ),
        env: { PLAIN: 'a value', API_KEY: { value: secret, secret: true } },
      },
      query: { wait: 170 },
    })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    await service.client.call('addDomain', { params: { id }, body: { host: 'shop.example.org' } })
    await service.client.call('putProxyRules', { params: { id }, body: rules })
    await writeFile(join(made.path, 'index.html'), '<h1>Shop</h1>')
    await fill(made.path, { sparseBytes: 1 << 30, smallFiles: rounds(3_000, 100_000) })
    const files = await treeOf(made.path)

    const load = await writeAllTheTime(clients(), join(made.path, 'app.sqlite'))
    t.after(() => load.end())
    await sleep(1_500)
    await until(
      async () => load.soFar().every(({ names }) => names.length > 1),
      'all of them to have something to lose',
      60_000,
    )
    const acknowledged = load.soFar()
    const backup = (await service.client.call('createBackup', {
      params: { id },
      query: { wait: 290 },
    })) as Backup
    await load.end()
    assert.ok(backup.parts, JSON.stringify(backup))
    const target = await service.client.call('createBackupTarget', { body: { name: 'Offsite', s3: bucket.s3 } })
    const copied = (await service.client.call('copyBackup', {
      params: { backup: backup.id },
      body: { target: target.id },
      query: { wait: 290 },
    })) as Backup
    assert.deepEqual(
      copied.copies?.map(({ state }) => state),
      ['complete'],
      JSON.stringify(copied),
    )

    await service.close()
    service = await startService(withSearch)
    const passphrase = target.recoveryPassphrase!
    const found = await service.client.call('createBackupTarget', {
      body: { name: 'Offsite', s3: bucket.s3, passphrase },
    })
    const fetched = (await service.client.call('fetchBackup', {
      params: { target: found.id },
      body: { backup: backup.id },
      query: { wait: 290 },
    })) as Backup
    assert.equal(fetched.opensHere, true, JSON.stringify(fetched))
    const back = await service.client.call('restoreBackupAs', {
      params: { backup: backup.id },
      body: { name: 'Shop', start: true },
      query: { wait: 290 },
    })
    if (back.operation !== null) await ended(back.operation.id)

    for (const client of clients()) {
      const { names } = acknowledged.find(({ workload }) => workload === client.workload)!
      for (const name of names) assert.ok(await client.holds(name), `${client.workload} lost ${name}`)
    }
    assert.deepEqual(await treeOf(back.path), files)
    const copy = new DatabaseSync(join(back.path, 'app.sqlite'))
    assert.equal(copy.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    const sqlite = acknowledged.find(({ workload }) => workload === 'sqlite')!
    const rows = new Set(
      copy
        .prepare('SELECT text FROM notes')
        .all()
        .map(({ text }) => text),
    )
    for (const name of sqlite.names) assert.ok(rows.has(name), `SQLite lost ${name}`)
    copy.close()
    const key = await service.client.call('getProjectEnvValue', {
      params: { id, name: 'API_KEY' },
      query: { reveal: 'true' },
    })
    assert.equal(key.value, secret)
    assert.equal(back.env.PLAIN?.value, 'a value')
    const { items } = await service.client.call('listDomains', { params: { id } })
    assert.ok(items.some(({ host }) => host === 'shop.example.org'))
    assert.deepEqual(
      (await service.client.call('getProxyRules', { params: { id } })).responseHeaders,
      rules.responseHeaders,
    )
    await until(async () => (await service.get(id)).status === 200, 'its address to answer')
    const answer = await service.get(id)
    assert.deepEqual([answer.body, answer.headers['x-kept']], ['<h1>Shop</h1>', 'yes'])
    if (isSoak)
      console.log(`${acknowledged.map(({ workload, names }) => `${workload} ${names.length}`).join(', ')} writes`)
  })

  const ended = async (op: string) => {
    const { state, error } = await service.client.call('getOperation', { params: { op }, query: { wait: 290 } })
    assert.equal(state, 'succeeded', JSON.stringify(error))
  }
})

interface Acknowledged {
  readonly workload: string
  readonly names: readonly string[]
}

/** Writes one after the other into each, until `end`. What stops for its copy is written again when it is back. */
async function writeAllTheTime(clients: readonly RealClient[], sqlite: string) {
  let goesOn = true
  const acknowledged = new Map<string, string[]>()
  const writers = [...clients, sqliteWriter(sqlite)].map(async ({ workload, write }) => {
    const names: string[] = []
    acknowledged.set(workload, names)
    for (let at = 0; goesOn; at += 1) {
      const name = `write ${at}`
      await write(name).then(
        () => names.push(name),
        () => undefined,
      )
      await sleep(40)
    }
  })
  return {
    soFar: (): readonly Acknowledged[] =>
      [...acknowledged].map(([workload, names]) => ({ workload, names: [...names] })),
    end: async () => {
      goesOn = false
      await Promise.all(writers)
    },
  }
}

/** As a program of the project would: many small transactions on a database of files. */
function sqliteWriter(file: string): Pick<RealClient, 'workload' | 'write'> {
  return {
    workload: 'sqlite',
    write: async (name) => {
      const database = new DatabaseSync(file, { timeout: 1_000 })
      try {
        database.prepare('INSERT INTO notes VALUES (?)').run(name)
      } finally {
        database.close()
      }
    },
  }
}
