import assert from 'node:assert/strict'
import { chmod, lstat, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Checkpoint, OperationRecord, Plan, Problem, ProjectView } from '@stackquay/contract'
import { rounds } from '@stackquay/testkit/rounds'
import { Client } from 'pg'
import { counterProgram, startCounting } from './support/counter.ts'
import { fill, treeOf } from './support/project-files.ts'
import { databaseClient, type RealClient, serviceClients } from './support/real-clients.ts'
import { type Service, startService } from './support/service.ts'
import { giveToProjects, makeSourceRoot, type SourceRoot } from './support/source-root.ts'

const id = 'shop'

/** A whole project, put back after everything in it became different, by one operation, however often that is cut off. */
describe('checkpoints of a real project', { concurrency: 1 }, () => {
  let service: Service
  let root: SourceRoot
  let path: string
  let clients: readonly RealClient[]
  let first: Checkpoint

  before(async () => {
    root = await makeSourceRoot()
    service = await startService({ roots: root.path })
    path = await root.folder('shop', {
      'package.json': JSON.stringify({ name: 'shop', private: true, scripts: { start: 'node server.cjs' } }),
      'server.cjs': counterProgram,
      'node_modules/kept/index.js': 'kept',
      '.git/HEAD': 'ref: refs/heads/main\n',
    })
    await fill(path)
    await giveToProjects(path)
    const body = {
      name: 'Shop',
      path,
      redis: {},
      storage: {},
      databases: { main: { type: 'postgresql', version: '15' } },
      env: { PLAIN: 'a value', API_KEY: { value: 'öffnet $alles\n', secret: true } },
    }
    const made = await service.client.call('createProject', { body, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    assert.equal(made.status.state, 'running', JSON.stringify(made.status))
    await service.client.call('addDomain', { params: { id }, body: { host: 'shop.example.org' } })
    const all = serviceClients(service, id)
    clients = [all.redis!, all.storage!, databaseClient(service, id, 'postgresql', 'main')]
    for (const client of clients) await client.write('before')
  })
  after(async () => {
    await service?.close()
    await root?.remove()
  })

  const show = async () => (await service.client.call('getProject', { params: { id } })) as ProjectView
  const list = async () => (await service.client.call('listCheckpoints', { params: { id } })).items
  const take = async (name: string) => {
    const made = await service.client.call('createCheckpoint', { params: { id }, body: { name }, query: { wait: 150 } })
    assert.ok('parts' in made, JSON.stringify(made))
    return made as Checkpoint
  }
  const begin = (checkpoint: string, wait = 170) =>
    service.client.call(
      'restoreCheckpoint',
      { params: { id, checkpoint }, body: { confirm: id }, query: { wait } },
      { ifMatch: '*' },
    )
  const restore = async (checkpoint: string) => {
    const { state, error } = (await begin(checkpoint)) as OperationRecord
    assert.equal(state, 'succeeded', JSON.stringify(error))
  }
  const secret = async () =>
    (await service.client.call('getProjectEnvValue', { params: { id, name: 'API_KEY' }, query: { reveal: 'true' } }))
      .value
  const hosts = async () =>
    (await service.client.call('listDomains', { params: { id } })).items
      .map(({ host }) => host)
      .filter((host) => host.endsWith('.example.org'))
  const data = async () => {
    const names = await readdir(join(service.home, 'data', (await show()).id))
    return names.sort()
  }
  const counted = async () => {
    const { url } = (await service.client.call('getDatabaseCredentials', { params: { id, db: 'main' } })) as {
      url: string
    }
    const client = new Client(url)
    await client.connect()
    try {
      const inPostgres = Number((await client.query('SELECT coalesce(max(n), 0) AS n FROM counted')).rows[0].n)
      const answer = JSON.parse((await service.get(id, '/')).body) as { redis: number; file: number }
      return [inPostgres, answer.redis, answer.file]
    } finally {
      await client.end()
    }
  }

  it('hold everything at one moment: what one program writes to two databases and a file is equal in all', {
    timeout: 300_000,
  }, async (t) => {
    const tree = await treeOf(path)
    const planned = (await service.client.plan('createCheckpoint', { params: { id } })) as Plan
    assert.deepEqual(
      [...planned.plan.restarts].sort(),
      (await show()).status.workloads.map(({ name }) => name).sort(),
      JSON.stringify(planned),
    )
    const counting = startCounting(service, id)
    await counting.more(5)
    first = await take('before the upgrade')
    await counting.more(5)
    await counting.end()
    assert.deepEqual(counting.failures, [])
    t.diagnostic(
      `${first.parts.map(({ name, method, bytes }) => `${name} ${method} ${bytes}`).join(', ')}: ${first.milliseconds} ms`,
    )
    assert.deepEqual(
      first.parts.map(({ name }) => name),
      ['source', 'postgresql-main', 'redis', 'storage'],
    )
    const [inPostgres = 0, inRedis, inFile] = await counted()
    assert.deepEqual([inRedis, inFile], [inPostgres, inPostgres])
    assert.ok(inPostgres >= 10)

    await restore(first.id)
    const [then = 0, redis, file] = await counted()
    assert.deepEqual([redis, file], [then, then])
    assert.ok(then >= 5 && then < inPostgres, `${then} of ${inPostgres}`)
    assert.deepEqual(await treeOf(path), await withCounter(tree))
  })

  it('put everything back after everything became different, and that restore is undone by the one made first', {
    timeout: 400_000,
  }, async () => {
    const then = await show()
    const [tree, rows] = [await treeOf(path), await counted()]
    // A link that leads out, where a folder was.
    const victim = await root.folder('victim', { precious: 'precious' })
    for (const client of clients) await client.write('after')
    await rm(join(path, 'deep'), { recursive: true })
    await rename(join(path, 'run.sh'), join(path, 'renamed.sh'))
    await rm(join(path, 'inside'))
    await mkdir(join(path, 'inside', 'node_modules', 'other'), { recursive: true })
    await symlink(victim, join(path, 'deep'))
    await writeFile(join(path, 'node_modules', 'kept', 'index.js'), 'newer')
    await writeFile(join(path, 'server.cjs'), `${await readFile(join(path, 'server.cjs'), 'utf8')}\n// newer\n`)
    await giveToProjects(path)
    await service.client.call('removeDomain', { params: { id, host: 'shop.example.org' } })
    await service.client.call('addDomain', { params: { id }, body: { host: 'later.example.org' } })
    const change = {
      env: { PLAIN: 'another', API_KEY: { value: 'changed', secret: true }, MORE: 'more' },
      databases: { second: { type: 'postgresql' } },
    }
    const changed = await service.client.call('updateProject', { params: { id }, body: change, query: { wait: 170 } })
    assert.equal(changed.operation?.state, 'succeeded', JSON.stringify(changed.operation?.error))
    await service.client.call('rotateDatabaseCredentials', { params: { id, db: 'main' }, query: { wait: 100 } })
    const upgraded = await service.client.call('updateDatabase', {
      params: { id, db: 'main' },
      body: { version: '18' },
      query: { wait: 170 },
    })
    assert.equal(upgraded.operation?.state, 'succeeded', JSON.stringify(upgraded.operation?.error))
    const second = databaseClient(service, id, 'postgresql', 'second')
    await second.write('here')
    const later = await treeOf(path)

    const { plan } = (await service.client.plan(
      'restoreCheckpoint',
      { params: { id, checkpoint: first.id }, body: { confirm: id } },
      { ifMatch: '*' },
    )) as Plan
    assert.ok(plan.deletesData.includes('postgresql-second'), JSON.stringify(plan))
    assert.ok(plan.steps.some(({ title }) => /before-restore/.test(title)))
    assert.ok(
      plan.changes.some(({ field }) => field.startsWith('env')),
      JSON.stringify(plan.changes),
    )
    await restore(first.id)

    assert.deepEqual((await treeOf(path)).filter(notKept), tree.filter(notKept))
    for (const client of clients)
      assert.deepEqual([await client.holds('before'), await client.holds('after')], [true, false], client.workload)
    assert.deepEqual(await counted(), rows)
    assert.equal(await secret(), 'öffnet $alles\n')
    const back = await show()
    assert.deepEqual(Object.keys(back.databases), ['main'])
    assert.equal(back.databases.main?.version, '15')
    assert.deepEqual([back.env.PLAIN?.value, back.env.MORE], ['a value', undefined])
    assert.deepEqual(await hosts(), ['shop.example.org'])
    assert.equal(back.status.state, 'running', JSON.stringify(back.status))
    assert.ok(back.generation > then.generation)
    assert.deepEqual(await readdir(victim), ['precious'])
    const database = new DatabaseSync(join(path, 'app.sqlite'))
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    database.close()
    await giveToProjects(path)

    const [undo] = (await list()).filter(({ source }) => source === 'before-restore')
    await restore(undo!.id)
    assert.deepEqual((await treeOf(path)).filter(notKept), later.filter(notKept))
    assert.deepEqual(await readdir(victim), ['precious'])
    for (const client of [...clients, second])
      assert.ok(client === second || (await client.holds('after')), client.workload)
    assert.ok(await second.holds('here'))
    assert.equal((await show()).databases.main?.version, '18')
    assert.equal(await secret(), 'changed')
    assert.deepEqual(await hosts(), ['later.example.org'])
    assert.equal((await show()).env.MORE?.value, 'more')
  })

  it('are refused before anything is touched where a name belongs to somebody else by now', {
    timeout: 200_000,
  }, async () => {
    await service.client.call('createProject', { body: { name: 'Other', start: false }, query: { wait: 60 } })
    await service.client.call('addDomain', { params: { id: 'other' }, body: { host: 'shop.example.org' } })
    const known = (await list()).length
    const refused = (await begin(first.id).then(
      () => null,
      (error: unknown) => (error as { problem: Problem }).problem,
    ))!
    assert.equal(refused.code, 'conflict')
    assert.match(refused.detail ?? '', /shop\.example\.org" belongs to the project "other"/)
    assert.equal((await list()).length, known)
    await service.client.call('removeDomain', { params: { id: 'other', host: 'shop.example.org' } })
  })

  it('are not put back over a folder that the project may not empty: nothing is touched', {
    timeout: 200_000,
    skip: process.getuid?.() === 0 ? false : 'a file of somebody else needs root',
  }, async () => {
    const { path } = await show()
    await mkdir(join(path, 'theirs'))
    await writeFile(join(path, 'theirs/f'), 'x')
    // Otherwise the folder of a person lets the project in.
    await chmod(join(path, 'theirs'), 0o700)
    const [files, known] = [(await readdir(path, { recursive: true })).sort(), (await list()).length]
    const { state, error } = (await begin(first.id)) as OperationRecord
    assert.equal(state, 'failed')
    assert.match(`${error?.code} ${error?.detail}`, /^io_failed .*may not remove what is in "theirs"/)
    assert.deepEqual((await readdir(path, { recursive: true })).sort(), files)
    assert.equal((await list()).length, known)
    await rm(join(path, 'theirs'), { recursive: true })
  })

  it('are whole or not there when the service is killed, and a restore ends or is undone', {
    timeout: 900_000,
  }, async () => {
    await restore(first.id)
    const [tree, rows] = [(await treeOf(path)).filter(notKept), await counted()]
    for (let round = 0; round < rounds(2, 15); round += 1) {
      await cutOff(() => service.client.call('createCheckpoint', { params: { id } }), 2500)
      const known = new Set((await list()).map((one) => one.id))
      for (const name of await data())
        assert.ok(!name.startsWith('chk_') || known.has(name.split('-')[0]!), `${name} was left`)
      for (const one of (await list()).filter((one) => one.source === 'manual' && one.id !== first.id))
        await service.client.call('deleteCheckpoint', { params: { id, checkpoint: one.id } })
      for (const client of clients) await client.write(`round ${round}`)
      await writeFile(join(path, 'new'), 'new')
      await giveToProjects(path)
      await cutOff(() => begin(first.id, 0), 6000)
      assert.deepEqual((await treeOf(path)).filter(notKept), tree)
      assert.deepEqual(await counted(), rows)
      for (const client of clients)
        assert.deepEqual([await client.holds('before'), await client.holds(`round ${round}`)], [true, false])
      for (const { state, name } of (await show()).status.workloads) assert.equal(state, 'running', name)
    }
  })

  it('are deleted one by one, and go to the trash and come back with their project', { timeout: 200_000 }, async () => {
    const extra = await take('extra')
    await service.client.call('deleteCheckpoint', { params: { id, checkpoint: extra.id } })
    assert.ok(!(await data()).some((name) => name.startsWith(extra.id)))
    const project = await show()
    await service.client.call('deleteProject', { params: { id }, query: { confirm: id, data: 'delete', wait: 60 } })
    const [item] = (await service.client.call('listTrash', {})).items.filter((one) => one.project.id === project.id)
    await service.client.call('restoreTrash', { params: { item: item!.id }, query: { wait: 60 } })
    assert.ok((await list()).some((one) => one.id === first.id))
    await restore(first.id)
    assert.equal(await secret(), 'öffnet $alles\n')
    assert.equal((await show()).status.state, 'stopped')
  })

  /** Begins it, kills the service some time later, and waits until the operation has ended after the next start. */
  async function cutOff(start: () => Promise<unknown>, withinMs: number): Promise<void> {
    const operation = (await start()) as OperationRecord
    await sleep(100 + Math.random() * withinMs)
    await service.kill()
    await service.start()
    const { state, error } = await service.client.call('getOperation', {
      params: { op: operation.id },
      query: { wait: 150 },
    })
    assert.equal(state, 'succeeded', JSON.stringify(error))
  }

  /** The tree from before the first request, with the file that its program made since. */
  async function withCounter(lines: readonly string[]): Promise<readonly string[]> {
    const now = await treeOf(path)
    const own = now.filter((line) => line.startsWith('counter '))
    assert.equal((await lstat(join(path, 'counter'))).isFile(), true)
    return [...lines.filter((line) => !line.startsWith('counter ')), ...own].sort(
      (one, other) => now.indexOf(one) - now.indexOf(other),
    )
  }
})

/** Not what is made again: no checkpoint has it, and it goes where something else stood in its place. */
function notKept(line: string): boolean {
  return !line.includes('node_modules')
}
