import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Problem, ProjectCreate } from '@stackquay/contract'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { refusal } from './support/refusal.ts'
import { type Service, startService, until } from './support/service.ts'
import { settings } from './support/settings.ts'
import { closeToProjects, makeSourceRoot, type SourceRoot } from './support/source-root.ts'
import { allEvents } from './support/traces.ts'

const execute = promisify(execFile)
const server = "require('http').createServer((q, a) => a.end('ok')).listen(process.env.PORT, '127.0.0.1')\n"
const scripts = JSON.stringify({ scripts: { start: 'node server.js' } })
const application = { 'package.json': scripts, 'server.js': server }

describe('bad input', () => {
  let service: Service
  let root: SourceRoot
  let elsewhere: SourceRoot
  let git: GitServer
  let repositories: string

  before(async () => {
    root = await makeSourceRoot()
    elsewhere = await makeSourceRoot()
    repositories = await mkdtemp(join(tmpdir(), 'stackquay-git-'))
    git = await serveGit(repositories, { username: 'grace', password: 'of-hopper' })
    service = await startService({ roots: root.path })
  })
  after(async () => {
    await service?.close()
    await git?.close()
    await root?.remove()
    await elsewhere?.remove()
    await rm(repositories, { recursive: true, force: true })
  })

  it('a name that is taken is refused with its holder, and the holder is left alone', async () => {
    await create({ name: 'Shop', template: 'static' })
    const { generation } = await read('shop')
    for (const body of [{ name: 'shop' }, { name: 'Shöp!', slug: 'shop' }, { name: 'SHOP', template: 'static' }]) {
      const refused = await refusal(create(body))
      assert.equal(refused.code, 'conflict')
      assert.match(refused.detail, /"shop" is taken by the project "Shop"/)
      assertHelpful(refused)
    }
    assert.equal((await read('shop')).generation, generation)
    assert.deepEqual(await slugs(), ['shop'])
    assert.deepEqual(await madeFolders(), ['shop'])
  })

  it('two requests for the same name at once make one project', async () => {
    const both = await Promise.allSettled([1, 2, 3].map(() => create({ name: 'Twins', template: 'static' })))
    assert.equal(both.filter((one) => one.status === 'fulfilled').length, 1)
    assert.deepEqual(
      (await madeFolders()).filter((name) => name.includes('twins')),
      ['twins'],
    )
    assert.equal((await service.get('twins')).status, 200)
  })

  it('a folder outside the allowed roots, behind a link, closed, missing, or no folder is refused and not touched', async () => {
    const outside = await elsewhere.folder('outside', application)
    const inside = await root.folder('inside', application)
    await symlink(outside, join(root.path, 'link'))
    await symlink(elsewhere.path, join(root.path, 'link-above'))
    const closed = await root.folder('closed', application)
    await closeToProjects(closed)
    const cases: [string, RegExp][] = [
      [outside, /outside the folders from which projects may be taken/],
      [join(root.path, 'link'), /leads through a symbolic link to/],
      [join(root.path, 'link-above', 'outside'), /leads through a symbolic link to/],
      [join(root.path, '..', elsewhere.path.split('/').at(-1)!, 'outside'), /outside the folders/],
      [join(root.path, 'missing'), /There is no folder/],
      [join(inside, 'server.js'), /is not a folder/],
      ['inside', /is not an absolute path/],
      [root.path, /outside the folders/],
      [service.home, /outside the folders|belongs to the service itself/],
      ['/', /outside the folders/],
      ...(process.getuid?.() === 0 ? ([[closed, /may not (enter|work in)/]] as [string, RegExp][]) : []),
    ]
    for (const [path, words] of cases) {
      const refused = await refusal(create({ name: 'Foreign', path }))
      assert.equal(refused.code, 'path_forbidden', `${path}: ${refused.detail}`)
      assert.match(refused.detail, words)
      assertHelpful(refused)
    }
    assert.equal(await readFile(join(outside, 'server.js'), 'utf8'), server)
    assert.ok(!(await slugs()).includes('foreign'))

    await create({ name: 'Inside', path: inside })
    const again = await refusal(create({ name: 'Inside again', path: inside }))
    assert.equal(again.code, 'conflict')
    assert.match(again.detail, /belongs to the project "inside" already/)
    await remove('inside')
    assert.equal(await readFile(join(inside, 'server.js'), 'utf8'), server)
  })

  it('a version and a database that this machine does not have are refused with what would install them', async () => {
    const { runtimes } = await service.client.call('listRuntimes')
    const missing = runtimes
      .flatMap((runtime) => runtime.versions.map((version) => ({ runtime: runtime.name, ...version })))
      .find((version) => !version.available)!
    const refused = await refusal(
      create({ name: 'Old', [missing.runtime]: { enabled: true, version: missing.version } } as ProjectCreate),
    )
    assert.equal(refused.code, 'unavailable_here')
    assert.ok(refused.detail.includes(missing.install!), refused.detail)
    const database = await refusal(create({ name: 'Old', databases: { main: { type: 'oracle' } } }))
    assert.equal(database.errors?.[0]?.pointer, '/databases/main/type')
    assert.ok(!(await slugs()).includes('old'))
  })

  it('a port that another program took is named with its holder, and the project starts when it is free', async () => {
    const project = await create({ name: 'Ported', path: await root.folder('ported', application) })
    const port = settings(project, 'node').hostPort as number
    await finish(service.client.call('stopProject', { params: { id: 'ported' }, query: { wait: 30 } }))
    const intruder = await listenOn(port)
    const failed = await service.client.call('startProject', { params: { id: 'ported' }, query: { wait: 30 } })
    assert.equal(failed.error?.code, 'port_in_use')
    assert.ok(
      failed.error!.detail.includes(String(port)) && failed.error!.detail.includes(`pid ${process.pid}`),
      failed.error!.detail,
    )
    assertHelpful(failed.error as Problem)
    assert.equal((await read('ported')).status.state, 'failed')
    assert.match(
      (await read('ported')).status.warnings.map((warning) => warning.detail).join(),
      new RegExp(`pid ${process.pid}`),
    )
    intruder.close()
    await finish(service.client.call('startProject', { params: { id: 'ported' }, query: { wait: 30 } }))
    assert.equal((await service.get('ported')).body, 'ok')
    await remove('ported')
  })

  it('a program that ends at once is reported with its exit code and last lines; the project stays and can be mended', async () => {
    const path = await root.folder('ends', {
      'package.json': scripts,
      'server.js': "console.log('reading settings'); console.error('no settings.json here'); process.exit(7)\n",
    })
    const project = await create({ name: 'Ends', path })
    assert.equal(project.operation?.state, 'failed')
    const error = project.operation!.error!
    assert.equal(error.code, 'exited_early')
    assert.match(error.detail, /exit code 7/)
    assert.deepEqual([...(error.logTail as string[])].sort(), ['no settings.json here', 'reading settings'])
    assertHelpful(error as Problem)
    const { status } = await read('ends')
    assert.equal(status.state, 'failed')
    assert.equal(status.workloads[0]?.lastExit?.code, 7)
    assert.match((await service.get('ends')).body, /not start|failed|stopped|does not/i)

    await writeFile(join(path, 'server.js'), server)
    await finish(service.client.call('startProject', { params: { id: 'ends' }, query: { wait: 30 } }))
    assert.equal((await service.get('ends')).body, 'ok')
    await remove('ends')
  })

  it('a program that never listens where it should is told the port on which it does', async () => {
    const path = await root.folder('elsewhere', {
      'package.json': scripts,
      'server.js':
        "const s = require('http').createServer((q, a) => a.end('ok')).listen(0, '127.0.0.1', () => console.log('on', s.address().port))\n",
    })
    const project = await create({ name: 'Elsewhere', path, healthCheck: { path: '/', timeoutSeconds: 2 } })
    const error = project.operation!.error!
    assert.equal(error.code, 'never_ready')
    assert.match(error.detail, /not ready within 2 seconds/)
    const listens = /on (\d+)/.exec((error.logTail as string[]).join('\n'))?.[1]
    assert.ok(listens !== undefined && error.hint.includes(`port ${listens}`), error.hint)
    assert.match(error.hint, /which it is given as PORT/)
    await remove('elsewhere')
  })

  it('a broken stackquay.yml is refused with line, column and the nearest key, sent or cloned', async () => {
    const manifest = 'name: Broken\nnode:\n  presett: express\n  port: many\ndatabase:\n  main:\n    type: postgresql\n'
    const refused = await refusal(service.client.call('createFromManifest', { body: { manifest } }))
    assertFaults(refused)
    const syntax = await refusal(
      service.client.call('createFromManifest', { body: { manifest: 'name: Broken\nnode: {preset: "express\n' } }),
    )
    assert.equal(syntax.code, 'manifest_invalid')
    assert.ok(syntax.errors!.every((error) => error.line !== undefined && error.column !== undefined))

    const source = await root.folder('broken', { ...application, 'stackquay.yml': manifest })
    const mine = join(repositories, 'broken')
    await cp(source, mine, { recursive: true })
    await publishRepository(mine, join(repositories, 'broken.git'))
    const cloned = await refusal(create({ name: 'Broken', git: { url: git.url('broken.git') } }))
    assertFaults(cloned)
    const taken = await refusal(create({ name: 'Broken', path: source }))
    assertFaults(taken)
    assert.equal(await readFile(join(source, 'stackquay.yml'), 'utf8'), manifest)
    assert.ok(!(await slugs()).includes('broken'))
    assert.ok(!(await madeFolders()).includes('broken'))
  })

  it('unknown fields are refused, all at once, each with the nearest name', async () => {
    const refused = await refusal(
      create({
        name: 'Typo',
        nod: { enabled: true },
        node: { presset: 'vite' },
        databases: { main: { typ: 'postgresql' } },
      } as ProjectCreate),
    )
    assert.equal(refused.code, 'validation_failed')
    const told = Object.fromEntries(refused.errors!.map((error) => [error.pointer, error.detail]))
    assert.match(told['/nod'] ?? '', /"?node"?/)
    assert.match(told['/node/presset'] ?? '', /preset/)
    assert.match(told['/databases/main/typ'] ?? '', /type/)
  })

  it('a program that keeps crashing is shown as such with its last lines, and recovers after the mending and a start', {
    timeout: 90_000,
  }, async () => {
    const path = await root.folder('crasher', {
      'package.json': scripts,
      // It lives until it was seen to listen, however slow this machine is: what ends before that has failed to start.
      'server.js': `const fail = () => { console.error('out of luck'); process.exit(3) }
        ${server.trim()}.once('connection', () => setTimeout(fail, 300))\n`,
    })
    await create({ name: 'Crasher', path })
    let { status: waiting } = await read('crasher')
    // A second look might be after the wait.
    await until(async () => {
      waiting = (await read('crasher')).status
      return typeof waiting.workloads[0]?.nextRestartAt === 'string'
    }, 'the wait before a restart')
    assert.match(waiting.warnings[0]?.detail ?? '', /exit code 3/)
    assert.notEqual(waiting.state, 'running')
    await until(
      async () => (await read('crasher')).status.workloads[0]?.state === 'crashed',
      'it to be given up',
      45_000,
    )
    const { status } = await read('crasher')
    assert.equal(status.state, 'failed')
    assert.match(status.workloads[0]?.reason ?? '', /exit code 3, 6 times in a row/)
    assert.ok(status.workloads[0]?.logTail.includes('out of luck'))
    const toldStates = async () =>
      (await allEvents(service))
        .filter(({ type, data }) => type === 'project.status' && data.slug === 'crasher')
        .map(({ data }) => data.state)
    await until(async () => (await toldStates()).at(-1) === 'failed', 'the event of its failure')
    const states = await toldStates()
    assert.ok(states.includes('degraded'), states.join())
    assert.ok(!states.slice(0, -1).includes('failed'), `it was told as failed before it was given up: ${states.join()}`)
    assert.ok(status.warnings.some((warning) => warning.code === 'crashed' && warning.hint !== ''))

    await writeFile(join(path, 'server.js'), server)
    await finish(service.client.call('startProject', { params: { id: 'crasher' }, query: { wait: 30 } }))
    const mended = (await read('crasher')).status
    assert.deepEqual([mended.state, mended.workloads[0]?.restarts, mended.warnings], ['running', 0, []])
    await remove('crasher')
  })

  async function create(body: ProjectCreate) {
    return service.client.call('createProject', { body, query: { wait: 60 } })
  }

  async function read(slug: string) {
    return service.client.call('getProject', { params: { id: slug } })
  }

  async function remove(slug: string) {
    await finish(
      service.client.call('deleteProject', {
        params: { id: slug },
        query: { confirm: slug, data: 'delete', wait: 60 },
      }),
    )
  }

  async function slugs(): Promise<readonly string[]> {
    return (await service.client.call('listProjects', { query: { limit: 200 } })).items.map((item) => item.slug)
  }

  /** What stands in the folder of projects, half-made things included. */
  async function madeFolders(): Promise<readonly string[]> {
    return (await readdir(join(service.home, 'projects'))).sort()
  }
})

describe('a full disk', () => {
  let service: Service
  let disk: string

  before(async () => {
    assert.equal(process.getuid?.(), 0, 'Mounting a small disk needs root: run this test as root.')
    disk = await mkdtemp(join(tmpdir(), 'stackquay-disk-'))
    await execute('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=755', 'tmpfs', disk])
    service = await startService({ env: { STACKQUAY_PROJECTS_DIR: disk } })
  })
  after(async () => {
    await service?.close()
    await execute('umount', [disk])
    await rm(disk, { recursive: true, force: true })
  })

  it('fails a creation with disk_full, leaves nothing half made, and the same creation works when there is room', async () => {
    const { client } = service
    const body = { name: 'Roomy', template: 'static' }
    const filler = join(disk, 'filler')
    await execute('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k']).catch(() => undefined)
    const refused = await refusal(client.call('createProject', { body, query: { wait: 30 } }))
    assert.equal(refused.code, 'disk_full')
    assertHelpful(refused)
    assert.equal(refused.status, 507)
    assert.deepEqual(await readdir(disk), ['filler'])
    assert.deepEqual((await client.call('listProjects')).items, [])

    await rm(filler)
    const project = await client.call('createProject', { body, query: { wait: 30 } })
    assert.equal(project.operation?.state, 'succeeded')
    assert.equal((await service.get('roomy')).status, 200)
  })

  it('fails a copy with disk_full and leaves the original running', async () => {
    const { client } = service
    const { path } = await client.call('getProject', { params: { id: 'roomy' } })
    await execute('dd', ['if=/dev/urandom', `of=${join(path, 'large.bin')}`, 'bs=1k', 'count=1200'])
    const refused = await refusal(
      client.call('duplicateProject', { params: { id: 'roomy' }, body: { name: 'Copy' }, query: { wait: 30 } }),
    )
    assert.equal(refused.code, 'disk_full')
    assert.deepEqual(await readdir(disk), ['roomy'])
    assert.equal((await service.get('roomy')).status, 200)
  })
})

describe('a full disk under the service’s own home', () => {
  let service: Service
  let disk: string
  const usual = process.env.TMPDIR

  before(async () => {
    assert.equal(process.getuid?.(), 0, 'Mounting a small disk needs root: run this test as root.')
    disk = await mkdtemp(join(tmpdir(), 'stackquay-disk-'))
    await execute('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=755', 'tmpfs', disk])
    process.env.TMPDIR = disk
    service = await startService()
  })
  after(async () => {
    if (usual === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = usual
    await service?.close()
    await execute('umount', [disk])
    await rm(disk, { recursive: true, force: true })
  })

  it('refuses changes as a full disk and goes on answering; with room again everything works, and the audit log is whole', {
    timeout: 60_000,
  }, async () => {
    const { client } = service
    await client.call('createProject', { body: { name: 'Before', template: 'static' }, query: { wait: 30 } })
    const filler = join(disk, 'filler')
    await execute('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k']).catch(() => undefined)
    const codes = new Set<string>()
    for (let count = 0; count < 4; count += 1) {
      const call = client.call('createProject', {
        body: { name: `Full ${count}`, template: 'static' },
        query: { wait: 20 },
      })
      codes.add((await refusal(call)).code)
    }
    assert.deepEqual([...codes], ['disk_full'])
    assert.equal((await service.get('before')).status, 200)
    assert.deepEqual(
      (await client.call('listProjects')).items.map((item) => item.slug),
      ['before'],
    )

    await rm(filler)
    const project = await client.call('createProject', {
      body: { name: 'After', template: 'static' },
      query: { wait: 30 },
    })
    assert.equal(project.operation?.state, 'succeeded', JSON.stringify(project.operation?.error))
    await service.kill()
    await service.start()
    assert.equal((await service.get('after')).status, 200)
    assert.deepEqual((await client.call('listProjects')).items.map((item) => item.slug).sort(), ['after', 'before'])
    assert.equal((await client.call('verifyAudit')).ok, true)
  })
})

/** Every problem says what is true and what to do. */
function assertHelpful(problem: Problem): void {
  assert.ok(problem.detail.length > 10, JSON.stringify(problem))
  assert.ok(problem.hint.length > 10, JSON.stringify(problem))
}

function assertFaults(problem: Problem): void {
  assert.equal(problem.code, 'manifest_invalid')
  const faults = problem.errors!.map(({ line, column, detail }) => `${line}:${column} ${detail}`).join('\n')
  assert.match(faults, /^3:3 .*"presett".*"preset"/m)
  assert.match(faults, /^4:9 .*port/m)
  assert.match(faults, /^5:1 .*"database".*"databases"/m)
}

async function finish(call: Promise<{ readonly state: string; readonly error: unknown }>): Promise<void> {
  const operation = await call
  assert.equal(operation.state, 'succeeded', JSON.stringify(operation.error))
}

async function listenOn(port: number): Promise<Server> {
  const { promise, resolve, reject } = Promise.withResolvers<Server>()
  const intruder = createServer().on('error', reject)
  intruder.listen(port, '127.0.0.1', () => resolve(intruder))
  return promise
}
