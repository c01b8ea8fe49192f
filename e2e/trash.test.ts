import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OperationRecord, ProjectView, TrashItem } from '@stackquay/contract'
import { rounds } from '@stackquay/testkit/rounds'
import { databaseClient, type RealClient, serviceClients } from './support/real-clients.ts'
import { type Service, startService } from './support/service.ts'

const slug = 'shop'
const services = ['redis', 'storage', 'mailpit']

/** A project with five kinds of data and a page, deleted and brought back. */
describe('the trash of a real project', () => {
  let service: Service
  let clients: readonly RealClient[]
  let id: string
  let uids: ReadonlySet<number>

  before(async () => {
    service = await startService()
    const body = {
      name: 'Shop',
      static: {},
      ...Object.fromEntries(services.map((kind) => [kind, {}])),
      databases: { main: { type: 'postgresql' }, second: { type: 'mariadb' } },
      env: { API_KEY: { value: 'öffnet $alles\n', secret: true } },
    }
    const made = (await service.client.call('createProject', { body, query: { wait: 170 } })) as ProjectView
    id = made.id
    await writeFile(join(made.path, 'index.html'), '<h1>Shop</h1>')
    await lifecycle('startProject')
    const all = serviceClients(service, slug)
    clients = [
      ...services.map((kind) => all[kind]!),
      databaseClient(service, slug, 'postgresql', 'main'),
      databaseClient(service, slug, 'mariadb', 'second'),
    ]
    for (const client of clients) await client.write('before')
  })
  after(() => service?.close())

  const lifecycle = async (act: 'startProject' | 'stopProject') =>
    ended(await service.client.call(act, { params: { id: slug }, query: { wait: 120 } }))
  const ended = (operation: unknown) => {
    const { state, error } = operation as OperationRecord
    assert.equal(state, 'succeeded', JSON.stringify(error))
  }
  const patch = async (body: object) =>
    ended(
      (
        (await service.client.call('updateProject', {
          params: { id: slug },
          body,
          query: { wait: 60 },
        })) as ProjectView
      ).operation,
    )
  const remove = (query: object = { data: 'delete' }) =>
    service.client.call('deleteProject', { params: { id: slug }, query: { confirm: slug, wait: 60, ...query } })
  const trash = async (): Promise<readonly TrashItem[]> => (await service.client.call('listTrash', {})).items
  const restore = (item: TrashItem) => service.client.call('restoreTrash', { params: { item: item.id } })
  const data = () => join(service.home, 'data', id)
  const holds = async (what: string) => {
    for (const client of clients)
      assert.ok(await client.holds(what), `${client.workload} lost what was written ${what}`)
  }
  const answers = async () => {
    for (let tries = 0; tries < 100; tries += 1) {
      const { status, body } = await service.get(slug)
      if (status === 200 && body.includes('<h1>Shop</h1>')) return
      await sleep(100)
    }
    assert.fail('the project does not answer at its URL')
  }

  it('comes back byte for byte, with the owners of its files, and answers at its URL', {
    timeout: 240_000,
  }, async () => {
    await answers()
    await lifecycle('stopProject')
    const before = await treeOf(data())
    uids = new Set([...before.values()].map(({ uid }) => uid))
    assert.deepEqual(
      (await readdir(data())).sort(),
      ['mailpit', 'mariadb-second', 'postgresql-main', 'redis', 'storage'],
      'five kinds of data',
    )
    const began = performance.now()
    ended(await remove())
    const deletion = performance.now() - began
    assert.equal((await service.get(slug)).status, 404)
    const [item] = await trash()
    assert.ok(item !== undefined && item.data.length === 5 && (item.sizeBytes ?? 0) > 1e6, JSON.stringify(item))
    assert.ok((await readdir(data())).every((name) => name.endsWith(`@${item.id}`)))

    // Another project never gets the user whose files lie there.
    const other = (await service.client.call('createProject', {
      body: { name: 'Other', ...Object.fromEntries([['redis', {}]]), start: true },
      query: { wait: 120 },
    })) as ProjectView
    const others = await treeOf(join(service.home, 'data', other.id))
    const isRoot = process.getuid?.() === 0
    assert.ok(!isRoot || [...others.values()].every(({ uid }) => uid === 0 || !uids.has(uid)), 'a user was given twice')
    await service.client.call('deleteProject', {
      params: { id: other.id },
      query: { confirm: other.slug, data: 'delete', purge: 'true', wait: 60 },
    })

    await service.kill()
    await service.start()
    const moved = performance.now()
    const back = await restore(item)
    console.log(`deleted in ${Math.round(deletion)} ms, restored in ${Math.round(performance.now() - moved)} ms`)
    assert.deepEqual([back.id, back.slug], [id, slug])
    assert.deepEqual(await treeOf(data()), before)
    await lifecycle('startProject')
    await answers()
    await holds('before')
    const key = await service.client.call('getProjectEnvValue', {
      params: { id: slug, name: 'API_KEY' },
      query: { reveal: 'true' },
    })
    assert.equal(key.value, 'öffnet $alles\n')
  })

  it('data of a database and a service begins anew, and the old one comes back with its password', {
    timeout: 240_000,
  }, async () => {
    await service.client.call('deleteDatabase', {
      params: { id: slug, db: 'main' },
      query: { confirm: 'main', wait: 60 },
    })
    await patch({ redis: { enabled: false, removeData: true } })
    await patch({ redis: { enabled: true } })
    const redis = clients[0]!
    assert.equal(await redis.holds('before').catch(() => false), false, 'a new start is empty')
    await patch({ redis: { enabled: false, removeData: true } })
    const items = await trash()
    assert.deepEqual(items.map(({ kind, name }) => `${kind} ${name}`).sort(), [
      'database main',
      'service redis',
      'service redis',
    ])
    // The oldest of both is what was written before.
    const old = items.filter(({ name }) => name === 'redis').at(-1)!
    await restore(old)
    const back = (await service.client.call('restoreTrash', {
      params: { item: items.find(({ name }) => name === 'main')!.id },
      query: { wait: 60 },
    })) as ProjectView
    ended(back.operation)
    await patch({ redis: { enabled: true } })
    await holds('before')
    for (const item of await trash())
      await service.client.call('purgeTrash', { params: { item: item.id }, query: { confirm: item.name } })
    assert.ok((await readdir(data())).every((name) => !name.includes('@')))
  })

  it('a kill at any moment of a deletion or a restore loses nothing', { timeout: 600_000 }, async () => {
    await lifecycle('stopProject')
    const before = await treeOf(data())
    let [deleted, undone] = [0, 0]
    for (let round = 0; round < rounds(6, 50); round += 1) {
      const act = remove().catch(() => null)
      await sleep(Math.random() * 250)
      await service.kill()
      await act
      await service.start()
      await settled()
      const items = await trash()
      const isThere = await service.client.call('getProject', { params: { id: slug } }).then(
        () => true,
        () => false,
      )
      assert.equal(items.length, isThere ? 0 : 1, 'it is in one place')
      if (isThere) {
        undone += 1
        assert.deepEqual(await treeOf(data()), before)
        continue
      }
      deleted += 1
      const back = restore(items[0]!).catch(() => null)
      await sleep(Math.random() * 60)
      await service.kill()
      await back
      await service.start()
      await settled()
      const [left] = await trash()
      if (left !== undefined) await restore(left)
      assert.deepEqual(await treeOf(data()), before)
    }
    console.log(`killed: ${deleted} deletions came to their end, ${undone} did not`)
    await lifecycle('startProject')
    await holds('before')
    await answers()
  })

  it('is gone with a purge, the user of the project too', { timeout: 120_000 }, async () => {
    ended(await remove())
    const [item] = await trash()
    const began = performance.now()
    await service.client.call('purgeTrash', { params: { item: item!.id }, query: { confirm: slug } })
    console.log(`purged in ${Math.round(performance.now() - began)} ms`)
    assert.deepEqual(await trash(), [])
    await assert.rejects(readdir(data()), { code: 'ENOENT' })
    if (process.getuid?.() === 0) {
      const users = await readFile('/etc/passwd', 'utf8')
      for (const uid of uids)
        assert.ok(uid === 0 || !users.includes(`:${uid}:${uid}:`), `the user ${uid} of the project is gone`)
    }
    await rm(data(), { recursive: true, force: true })
  })

  /** Until no operation goes on and nothing is under way in the trash. */
  async function settled(): Promise<void> {
    for (let tries = 0; tries < 200; tries += 1) {
      const { items } = await service.client.call('listOperations', { query: { limit: 5 } })
      const busy = items.some(({ state }) => state === 'queued' || state === 'running')
      if (!busy && (await trash()).every(({ state }) => state === 'kept')) return
      await sleep(50)
    }
    assert.fail('it does not come to rest')
  }
})

interface Entry {
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly content: string
}

/** Everything below a folder: kinds, modes, owners, times of files, links and content. */
async function treeOf(folder: string): Promise<ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>()
  const look = async (path: string, name: string) => {
    const about = await lstat(path)
    const { mode, uid, gid, mtimeMs } = about
    if (about.isDirectory()) {
      entries.set(name, { mode, uid, gid, content: 'folder' })
      for (const child of (await readdir(path)).sort()) await look(join(path, child), `${name}/${child}`)
    } else if (about.isSymbolicLink()) entries.set(name, { mode, uid, gid, content: `-> ${await readlink(path)}` })
    else if (about.isFile()) {
      const hash = createHash('sha256').update(await readFile(path))
      entries.set(name, { mode, uid, gid, content: `${hash.digest('hex')} ${mtimeMs}` })
    } else entries.set(name, { mode, uid, gid, content: 'other' })
  }
  await look(folder, '.')
  return entries
}
