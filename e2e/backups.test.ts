import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chown, link, lstat, mkdir, open, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Backup, OperationRecord, ProjectView } from '@stackquay/contract'
import { Client } from 'pg'
import { databaseClient, type RealClient, serviceClients } from './support/real-clients.ts'
import { type Service, startService } from './support/service.ts'

const run = promisify(execFile)
const id = 'shop'
const kinds = ['redis', 'storage', 'mailpit']

/** A project with everything, backed up under load, lost with all it had, and there again. */
describe('backups of a real project', () => {
  let service: Service
  let clients: readonly RealClient[]
  let path: string
  let backup: Backup

  before(async () => {
    service = await startService()
    clients = clientsOf(id)
    const body = {
      name: 'Shop',
      ...Object.fromEntries(kinds.map((kind) => [kind, {}])),
      databases: { main: { type: 'postgresql' } },
      env: { PLAIN: 'a value', API_KEY: { value: 'öffnet $alles\n', secret: true } },
    }
    const made = await service.client.call('createProject', { body, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    path = made.path
    await service.client.call('addDomain', { params: { id }, body: { host: 'shop.example.org' } })
    await service.client.call('putProxyRules', { params: { id }, body: rules })
    await fill(path)
    for (const client of clients) await client.write('before')
    await withDatabase(id, (client) =>
      client.query('CREATE TABLE numbers (n int PRIMARY KEY); INSERT INTO numbers SELECT generate_series(1, 20000)'),
    )
  })
  after(() => service?.close())

  const clientsOf = (project: string): readonly RealClient[] => {
    const all = serviceClients(service, project)
    return [...kinds.map((kind) => all[kind]!), databaseClient(service, project, 'postgresql', 'main')]
  }
  const show = async (project = id) =>
    (await service.client.call('getProject', { params: { id: project } })) as ProjectView
  const ended = (operation: OperationRecord | Backup | ProjectView | null) => {
    const { state, error } = operation as OperationRecord
    assert.equal(state, 'succeeded', JSON.stringify(error))
  }
  const withDatabase = async <T>(project: string, work: (client: Client) => Promise<T>): Promise<T> => {
    const { url } = (await service.client.call('getDatabaseCredentials', {
      params: { id: project, db: 'main' },
    })) as { url: string }
    const client = new Client(url)
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }
  const numbers = (project: string) =>
    withDatabase(project, async (client) => (await client.query('SELECT count(*)::int AS n FROM numbers')).rows[0].n)
  const restore = async (of: Backup, parts?: string[]) => {
    const { generation } = await show()
    const operation = await service.client.call(
      'restoreBackup',
      { params: { id, backup: of.id }, body: { confirm: id, ...(parts === undefined ? {} : { parts }) }, query: { wait: 120 } },
      { ifMatch: `"${generation}"` },
    )
    return operation as OperationRecord
  }

  it('are made while everything writes, with nothing stopped that can be read while it runs', { timeout: 180_000 }, async () => {
    const pids = async () => (await show()).status.workloads.map(({ name, pid }) => `${name} ${pid}`)
    const before = await pids()
    let writes = true
    const writer = withDatabase(id, async (client) => {
      for (let n = 20_001; writes; n += 1) await client.query('INSERT INTO numbers VALUES ($1)', [n])
    })
    const made = (await service.client.call('createBackup', {
      params: { id },
      body: { note: 'before the fire' },
      query: { wait: 120 },
    })) as Backup
    writes = false
    await writer
    assert.deepEqual(
      made.parts?.map((part) => `${part.id} ${part.method}`),
      ['settings copy', 'files copy', 'database:main online', 'service:redis online', 'service:storage online', 'service:mailpit online'].sort((a, b) =>
        made.parts.findIndex((part) => a.startsWith(part.id)) - made.parts.findIndex((part) => b.startsWith(part.id)),
      ),
      JSON.stringify(made),
    )
    assert.deepEqual(await pids(), before)
    assert.equal(made.opensHere, true)
    backup = made
  })

  it('come back whole into a new project after all was deleted', { timeout: 240_000 }, async () => {
    const files = await treeOf(path)
    const deletion = await service.client.call('deleteProject', {
      params: { id },
      query: { confirm: id, data: 'delete', wait: 60 },
    })
    ended(deletion)
    await rm(path, { recursive: true })
    const gone = await service.client.call('getAnyBackup', { params: { backup: backup.id } })
    assert.equal(gone.project.deleted, true)
    const made = (await service.client.call('restoreBackupAs', {
      params: { backup: backup.id },
      body: { name: 'Shop', start: true },
      query: { wait: 170 },
    })) as ProjectView
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    for (const client of clients) assert.ok(await client.holds('before'), `${client.workload} lost what it had`)
    assert.ok((await numbers(id)) >= 20_000)
    assert.deepEqual(await treeOf(made.path), files)
    const copied = new DatabaseSync(join(made.path, 'app.sqlite'))
    assert.deepEqual(copied.prepare('PRAGMA integrity_check').get(), { integrity_check: 'ok' })
    copied.close()
    const key = await service.client.call('getProjectEnvValue', { params: { id, name: 'API_KEY' }, query: { reveal: 'true' } })
    assert.equal(key.value, 'öffnet $alles\n')
    assert.equal(made.env.PLAIN?.value, 'a value')
    const { items } = await service.client.call('listDomains', { params: { id } })
    assert.ok(items.some(({ host }) => host === 'shop.example.org'))
    const kept = await service.client.call('getProxyRules', { params: { id } })
    assert.deepEqual(kept.responseHeaders, rules.responseHeaders)
    path = made.path
  })
})

const rules = {
  allowIps: [],
  basicAuth: null,
  redirects: [],
  requestHeaders: [],
  responseHeaders: [{ name: 'X-Kept', value: 'yes' }],
  cors: null,
}

/** Links, modes, odd names, a hole, a database that is being written. All of it as whoever owns the folder. */
async function fill(path: string): Promise<void> {
  const { uid, gid } = await lstat(path)
  await mkdir(join(path, 'deep', 'er'), { recursive: true })
  await writeFile(join(path, 'deep', 'er', 'Zeile\numbruch und "Anführung" 🚢'), 'odd')
  await writeFile(join(path, 'run.sh'), '#!/bin/sh\n', { mode: 0o750 })
  await writeFile(join(path, `${'long-'.repeat(40)}name`), 'long')
  await symlink('/etc/passwd', join(path, 'outside'))
  await symlink('run.sh', join(path, 'inside'))
  await link(join(path, 'run.sh'), join(path, 'hard'))
  const sparse = await open(join(path, 'sparse'), 'w')
  await sparse.truncate(64 << 20)
  await sparse.write('end', (64 << 20) - 3)
  await sparse.close()
  const database = new DatabaseSync(join(path, 'app.sqlite'))
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text)')
  for (let n = 0; n < 500; n += 1) database.prepare('INSERT INTO notes VALUES (?)').run(`note ${n}`)
  database.close()
  await run('chown', ['-Rh', `${uid}:${gid}`, path])
}

/** Names, kinds, modes, targets and contents of all that is in a folder; of a database and a hole no more than there is. */
async function treeOf(path: string): Promise<readonly string[]> {
  const lines: string[] = []
  for (const name of (await readdir(path, { recursive: true })).sort()) {
    const found = await lstat(join(path, name))
    const mode = (found.mode & 0o7777).toString(8)
    if (name.startsWith('app.sqlite-')) continue
    if (found.isSymbolicLink()) lines.push(`${name} -> ${await readlink(join(path, name))}`)
    else if (found.isDirectory()) lines.push(`${name}/ ${mode}`)
    else if (name === 'app.sqlite') lines.push(`${name} ${mode}`)
    else if (name === 'sparse') lines.push(`${name} ${mode} ${found.size} ${found.blocks < 1000}`)
    else lines.push(`${name} ${mode} ${found.nlink} ${await readFile(join(path, name), 'utf8')}`)
  }
  return lines
}
