import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Backup, OperationRecord, ProjectView } from '@stackquay/contract'
import { rounds } from '@stackquay/testkit/rounds'
import { Client } from 'pg'
import { faultsOf, prepare } from './support/planted-faults.ts'
import { fill, treeOf } from './support/project-files.ts'
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
      {
        params: { id, backup: of.id },
        body: { confirm: id, ...(parts === undefined ? {} : { parts }) },
        query: { wait: 120 },
      },
      { ifMatch: `"${generation}"` },
    )
    return operation as OperationRecord
  }

  it('are made while everything writes, with nothing stopped that can be read while it runs', {
    timeout: 180_000,
  }, async () => {
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
      [
        'settings copy',
        'files copy',
        'database:main online',
        'service:redis online',
        'service:storage online',
        'service:mailpit online',
      ].sort(
        (a, b) =>
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
    assert.equal(copied.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    copied.close()
    const key = await service.client.call('getProjectEnvValue', {
      params: { id, name: 'API_KEY' },
      query: { reveal: 'true' },
    })
    assert.equal(key.value, 'öffnet $alles\n')
    assert.equal(made.env.PLAIN?.value, 'a value')
    const { items } = await service.client.call('listDomains', { params: { id } })
    assert.ok(items.some(({ host }) => host === 'shop.example.org'))
    const kept = await service.client.call('getProxyRules', { params: { id } })
    assert.deepEqual(kept.responseHeaders, rules.responseHeaders)
    path = made.path
    // Nobody has been told of the old project: what is backed up from here on is that of the new one.
    backup = await make()
  })

  it('of one part put that back and leave the others untouched, also when its password was rotated since', {
    timeout: 180_000,
  }, async () => {
    const [, , , database] = clients
    for (const client of clients) await client.write('after')
    const rotated = await service.client.call('rotateDatabaseCredentials', {
      params: { id, db: 'main' },
      query: { wait: 60 },
    })
    ended((rotated as ProjectView).operation)
    const files = await treeOf(path)
    const pids = async () =>
      (await show()).status.workloads
        .filter(({ name }) => name !== 'postgresql-main')
        .map(({ name, pid }) => `${name} ${pid}`)
    const others = await pids()
    ended(await restore(backup, ['database:main']))
    // It logs in with what the credentials say now.
    assert.equal(await database!.holds('before'), true)
    assert.equal(await database!.holds('after').catch(() => false), false)
    for (const client of clients.slice(0, 3)) assert.ok(await client.holds('after'), `${client.workload} was touched`)
    assert.deepEqual(await pids(), others)
    assert.deepEqual(await treeOf(path), files)
    const { items } = await service.client.call('listBackups', { params: { id } })
    const taken = items.find(({ source }) => source === 'before-restore')
    assert.deepEqual(
      taken?.parts.map((part) => part.id),
      ['settings', 'database:main'],
    )
    ended(await restore(taken as Backup, ['database:main']))
    assert.ok(await database!.holds('after'), 'what a restore replaced is in the backup that it made')
  })

  it('of files put back what was changed, and take away what came after', { timeout: 120_000 }, async () => {
    const files = await treeOf(path)
    await writeFile(join(path, 'run.sh'), 'changed')
    await writeFile(join(path, 'new'), 'new')
    await rm(join(path, 'inside'))
    ended(await restore(backup, ['files']))
    assert.deepEqual(await treeOf(path), files)
  })

  it('of files hold nothing that waits in the folder to be put back, and leave that where it is', {
    timeout: 120_000,
  }, async () => {
    const local = ['.stackquay-trash', '.stackquay/before-pull']
    const isThere = (name: string) =>
      lstat(join(path, name, 'f')).then(
        () => true,
        () => false,
      )
    const { uid, gid } = await lstat(join(path, 'run.sh'))
    for (const name of local) {
      await mkdir(join(path, name), { recursive: true })
      await writeFile(join(path, name, 'f'), 'deleted')
    }
    await run('chown', ['-R', `${uid}:${gid}`, ...['.stackquay-trash', '.stackquay'].map((name) => join(path, name))])
    const made = (await service.client.call('createBackup', {
      params: { id },
      body: { parts: ['files'] },
      query: { wait: 120 },
    })) as Backup
    assert.ok(made.id, JSON.stringify(made))
    ended(await restore(made, ['files']))
    for (const name of local) {
      assert.ok(await isThere(name), name)
      await rm(join(path, name), { recursive: true })
    }
    ended(await restore(made, ['files']))
    for (const name of local) assert.equal(await isThere(name), false, name)
  })

  it('are not put back over a folder that the project may not empty: nothing is touched', {
    timeout: 120_000,
    skip: process.getuid?.() === 0 ? false : 'a file of somebody else needs root',
  }, async () => {
    const backups = async () => (await service.client.call('listBackups', { params: { id } })).items.length
    await mkdir(join(path, 'theirs'))
    await writeFile(join(path, 'theirs/f'), 'x')
    const [files, known] = [await treeOf(path), await backups()]
    const { state, error } = await restore(backup, ['files'])
    assert.equal(state, 'failed')
    assert.match(`${error?.code} ${error?.detail}`, /^io_failed .*may not remove what is in "theirs"/)
    assert.deepEqual(await treeOf(path), files)
    assert.equal(await backups(), known)
    assert.equal((await show()).status.state, 'running')
    await rm(join(path, 'theirs'), { recursive: true })
  })

  it('are downloaded, brought back, and refused when a byte is another one', { timeout: 120_000 }, async () => {
    const url = `${service.url}/api/v1/projects/${id}/backups/${backup.id}/download`
    const authorization = { authorization: `Bearer ${service.token}` }
    const whole = Buffer.from(await (await fetch(url, { headers: authorization })).arrayBuffer())
    const part = await fetch(url, { headers: { ...authorization, range: `bytes=1000-${whole.length - 1001}` } })
    assert.equal(part.status, 206)
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), whole.subarray(1000, -1000))
    await service.client.call('deleteBackup', { params: { id, backup: backup.id } })
    const upload = (body: Buffer) =>
      fetch(`${service.url}/api/v1/backups/upload`, {
        method: 'POST',
        headers: { ...authorization, 'content-type': 'application/x-tar' },
        body: new Uint8Array(body),
      })
    const damaged = Buffer.from(whole)
    damaged[Math.floor(damaged.length / 2)]! ^= 1
    const refused = await upload(damaged)
    assert.equal(((await refused.json()) as { code: string }).code, 'backup_damaged')
    const cut = await upload(whole.subarray(0, whole.length - 2000))
    assert.equal(((await cut.json()) as { code: string }).code, 'backup_damaged')
    assert.deepEqual(
      await readdir(join(service.home, 'backups')).then((names) => names.filter((name) => name.startsWith('.'))),
      [],
    )
    const taken = await upload(whole)
    assert.equal(taken.status, 201, await taken.clone().text())
    const back = (await taken.json()) as Backup
    assert.deepEqual([back.id, back.source, back.opensHere, back.verified], [backup.id, 'upload', true, null])
    assert.equal((await upload(whole)).status, 409)
  })

  it('are verified by a drill, which leaves nothing and finds what is wrong', { timeout: 240_000 }, async () => {
    const quiet = await make()
    const whole = await drill(quiet)
    assert.equal(whole.verified?.outcome, 'whole', JSON.stringify(whole.verified))
    const contents = whole.verified?.checks
      .filter(({ check }) => check === 'contents')
      .map(({ part, detail }) => `${part} ${detail}`)
    assert.equal(contents?.length, 4)
    for (const text of contents ?? []) assert.match(text, /the same as when it was taken/)
    const left = (await readdir(join(service.home, 'data'))).filter((name) => name.startsWith('drill_'))
    assert.deepEqual([left, await readdir(join(service.home, 'drills'))], [[], []])

    const manifest = join(service.home, 'backups', quiet.id, 'manifest.json')
    const text = await readFile(manifest, 'utf8')
    // Fewer files than were taken.
    await writeFile(
      manifest,
      text.replace(/"files": (\d+)/, (_, count) => `"files": ${Number(count) + 1}`),
    )
    await restart()
    const fewer = await drill(quiet)
    assert.equal(fewer.verified?.outcome, 'faulty')
    assert.ok(fewer.verified?.checks.some(({ part, check, ok }) => part === 'files' && check === 'unpacked' && !ok))
    await writeFile(manifest, text)
    await restart()
    // A byte of the database is another one.
    const stored = join(service.home, 'backups', quiet.id, 'database-main.tar.zst')
    const bytes = await readFile(stored)
    bytes[bytes.length >> 1]! ^= 1
    await writeFile(stored, bytes)
    const flipped = await drill(quiet)
    assert.equal(flipped.verified?.outcome, 'faulty')
    assert.ok(
      flipped.verified?.checks.some(({ part, check, ok }) => part === 'database:main' && check === 'checksum' && !ok),
    )
    const refused = await restore(quiet, ['database:main'])
    assert.equal(refused.error?.code, 'backup_damaged')
    for (const client of clients)
      assert.ok(await client.holds('after'), `${client.workload} was touched by a damaged backup`)
  })

  it('are found to be faulty when something small in each part is lost or another one', {
    timeout: 600_000,
  }, async () => {
    const planted = { service, project: id, path }
    await fillPlanted(path)
    await prepare(planted)
    // What a copy looks like that was made wrong: the next one, in the place of this one and with its counts.
    for (let round = 0; round < rounds(1, 5); round += 1) {
      const whole = await make()
      for (const faults of Object.values(faultsOf)) await faults[round]![1](planted)
      const other = await make()
      await exchange(whole.id, other.id, Object.keys(faultsOf))
      await restart()
      const { verified } = await drill(whole)
      assert.equal(verified?.outcome, 'faulty')
      for (const [part, faults] of Object.entries(faultsOf)) {
        const isFound = verified?.checks.some((check) => check.part === part && !check.ok)
        assert.ok(isFound, `${part}, ${faults[round]![0]}: ${JSON.stringify(verified?.checks)}`)
      }
      assert.ok(verified?.checks.every((check) => check.ok || check.part in faultsOf))
      for (const one of [whole, other]) await service.client.call('deleteBackup', { params: { id, backup: one.id } })
    }
  })

  it('are there whole or not at all when the service is killed, and a restore ends', { timeout: 600_000 }, async () => {
    for (let round = 0; round < rounds(2, 40); round += 1) {
      await cutOff(() => service.client.call('createBackup', { params: { id } }), 2500)
      const { items } = await service.client.call('listBackups', { params: { id } })
      const names = await readdir(join(service.home, 'backups'))
      assert.deepEqual(
        names.filter((name) => name.startsWith('.')),
        [],
      )
      for (const one of items) assert.ok(names.includes(one.id))
      const { generation } = await show()
      await cutOff(
        () =>
          service.client.call(
            'restoreBackup',
            { params: { id, backup: backup.id }, body: { confirm: id } },
            { ifMatch: `"${generation}"` },
          ),
        7000,
      )
      for (const client of clients) assert.ok(await client.holds('before'), `${client.workload} lost what it had`)
      for (const { state, name } of (await show()).status.workloads) assert.equal(state, 'running', name)
    }
  })

  /** Parts of one backup become those of another, with checksums that hold and what was counted in the first. */
  const exchange = async (into: string, from: string, parts: readonly string[]) => {
    const folder = (backup: string) => join(service.home, 'backups', backup)
    const manifestOf = async (backup: string) =>
      JSON.parse(await readFile(join(folder(backup), 'manifest.json'), 'utf8')) as {
        parts: { id: string; file: string; contents?: object }[]
      }
    const [own, others] = [await manifestOf(into), await manifestOf(from)]
    for (const [index, part] of own.parts.entries()) {
      if (!parts.includes(part.id)) continue
      assert.ok(part.contents, `${part.id} was not counted`)
      const other = others.parts.find((one) => one.id === part.id)!
      await copyFile(join(folder(from), other.file), join(folder(into), part.file))
      own.parts[index] = { ...other, contents: part.contents }
    }
    await writeFile(join(folder(into), 'manifest.json'), JSON.stringify(own))
  }
  const make = async () => {
    const made = (await service.client.call('createBackup', { params: { id }, query: { wait: 120 } })) as Backup
    assert.ok(made.parts, JSON.stringify(made))
    return made
  }
  const drill = async ({ id: of }: Backup) => {
    const found = (await service.client.call('verifyBackup', {
      params: { id, backup: of },
      query: { wait: 200 },
    })) as Backup
    assert.ok(found.parts, JSON.stringify(found))
    return found
  }
  const restart = async () => {
    await service.kill()
    await service.start()
  }
  /** Begins it, kills the service some time later, and waits until the operation has ended after the next start. */
  const cutOff = async (begin: () => Promise<unknown>, withinMs: number) => {
    const operation = (await begin()) as OperationRecord
    await sleep(100 + Math.random() * withinMs)
    await restart()
    const { state, error } = await service.client.call('getOperation', {
      params: { op: operation.id },
      query: { wait: 120 },
    })
    assert.equal(state, 'succeeded', JSON.stringify(error))
  }
})

const rules = {
  signIn: false,
  allowIps: [],
  basicAuth: null,
  redirects: [],
  requestHeaders: [],
  responseHeaders: [{ name: 'X-Kept', value: 'yes' }],
  cors: null,
}

/** What faults are planted in, as whoever owns the folder. */
async function fillPlanted(path: string): Promise<void> {
  const { uid, gid } = await lstat(path)
  const planted = join(path, 'planted')
  await mkdir(planted)
  await writeFile(join(planted, 'large'), 'quay '.repeat(100_000))
  for (const name of ['small', 'lost']) await writeFile(join(planted, name), 'small')
  await symlink('small', join(planted, 'link'))
  await run('chown', ['-Rh', `${uid}:${gid}`, planted])
}
