import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { databaseTypeOf, runtimeTypeOf, type Settings } from '@stackquay/catalog'
import { emptySpec, type ProjectSpec } from '@stackquay/domain'
import { createUserFiles, serviceUser } from '@stackquay/engines'
import { createFilesOf } from '../src/projects/files-of.ts'
import { createResolver, type Resolvable } from '../src/projects/resolver.ts'

let home = ''
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'stackquay-commands-'))
})
after(() => rm(home, { recursive: true, force: true }))

const secrets = { 'database/main/password': { secret: 'sec_1', version: 1 } }
const leases = [{ workload: 'postgresql-main', port: 'postgresql', hostPort: 24_601 }]

/** `reads` grows with every look into a source. */
function resolver(reads: { count: number } = { count: 0 }) {
  const filesOf = createFilesOf(serviceUser, createUserFiles())
  const options = {
    config: { home, baseDomain: 'localhost', proxy: null, proxyHttps: null, publishAddress: '0.0.0.0' },
    store: {
      ports: { of: async () => leases },
      secrets: { of: async () => secrets },
      archives: { of: async () => [] },
    },
    catalogue: {
      offers: async () => ({}),
      toolchain: (name: string, version: string) => ({ version, program: `/opt/${name}`, directory: '/opt' }),
      helpers: () => ({ npm: { version: '12.0.0', program: '/opt/npm', directory: '/opt' } }),
      ourNode: () => process.execPath,
    },
    programs: { file: (name: string) => join(home, name) },
    filesOf: async (place: Parameters<typeof filesOf>[0]) => {
      reads.count += 1
      return filesOf(place)
    },
    containers: async () => null,
  }
  return createResolver(options as unknown as Parameters<typeof createResolver>[0])
}

function settings(name: string): Settings {
  const kind = runtimeTypeOf(name)!
  return { ...kind.settings.defaults(), version: kind.releases[0]!.version, port: 3000 } as Settings
}

async function project(name: string, spec: Partial<ProjectSpec>): Promise<Resolvable> {
  const path = join(home, name)
  await mkdir(path)
  return { id: 'prj_1', slug: name, path, spec: { ...emptySpec(name), ...spec }, engine: 'native' }
}

test('commands are found in the files as they are now', async () => {
  const shop = await project('shop', { runtimes: { node: settings('node'), php: settings('php') } })
  assert.deepEqual(
    (await resolver().commands(shop)).actions.filter(({ reason }) => reason === null),
    [],
  )
  await writeFile(join(shop.path, 'package.json'), '{"scripts":{"build":"vite build"}}')
  await mkdir(join(shop.path, 'bin'))
  await writeFile(join(shop.path, 'bin/console'), '<?php')
  const ids = (await resolver().commands(shop)).actions.map(({ id }) => id)
  assert.ok(ids.includes('node.build') && ids.includes('php.debug:router'))
})

test('what is no plain file of the project is never read: a link out of it, a pipe, a folder', async () => {
  const runtimes = { node: settings('node'), ruby: settings('ruby'), go: settings('go') }
  const odd = await project('odd', { runtimes })
  await writeFile(join(home, 'outside.json'), '{"scripts":{"stolen":"true"}}')
  await symlink(join(home, 'outside.json'), join(odd.path, 'package.json'))
  execFileSync('mkfifo', [join(odd.path, 'Rakefile'), join(odd.path, '.env')])
  await mkdir(join(odd.path, 'go.mod'))
  const ids = (await resolver().commands(odd)).actions.map(({ id }) => id)
  assert.equal(ids.includes('node.stolen'), false)
  assert.ok(ids.includes('go.build'))
})

test('a folder that is gone has a terminal and no scripts', async () => {
  const gone: Resolvable = {
    id: 'prj_1',
    slug: 'gone',
    path: join(home, 'gone'),
    engine: 'native',
    spec: { ...emptySpec('Gone'), runtimes: { node: settings('node') } },
  }
  const { environments, actions } = await resolver().commands(gone)
  assert.equal(environments[0]?.cwd, gone.path)
  assert.deepEqual(
    actions.map(({ id }) => id),
    ['node.install'],
  )
})

test('a stand has data of its own, and folders and tools of the project', async () => {
  const own = await project('own', {
    runtimes: { node: settings('node') },
    databases: { main: { type: 'postgresql', version: '18', exposePort: true } },
  })
  await writeFile(join(own.path, 'package.json'), '{"dependencies":{"pg":"8"}}')
  await writeFile(join(own.path, '.env'), 'DB_PORT=24601\nAPP_NAME=Own\n')
  const usual = await resolver().commands(own)
  const { resolved, commands } = await resolver().inTestEnvironment(own, {
    id: 'run_1',
    lease: (workload, port) => (workload === 'postgresql-main' && port === 'postgresql' ? 31_000 : null),
    secret: (name, length) => ({ secret: `${name}:${length}`, version: 1 }),
  })
  assert.deepEqual(
    resolved.workloads.map(({ ref }) => ref),
    [{ project: 'run_1', workload: 'postgresql-main' }],
  )
  assert.deepEqual([resolved.errors, resolved.missingLeases, resolved.missingSecrets], [[], [], []])
  const [place] = commands.environments
  assert.deepEqual([place?.env.DATABASE_PORT, place?.env.DB_PORT, place?.env.APP_NAME], ['31000', '31000', undefined])
  assert.deepEqual(place?.env.DATABASE_PASSWORD, [{ secret: 'database/main/password:32', version: 1 }])
  assert.deepEqual(
    [place?.cwd, place?.setup, place?.env.PATH],
    [own.path, usual.environments[0]?.setup, usual.environments[0]?.env.PATH],
  )
  assert.equal(JSON.stringify([resolved, commands]).includes('24601'), false)
})

test('a change reads the source once for what the project is and what it becomes, and its operation goes on with that', async () => {
  const reads = { count: 0 }
  const of = resolver(reads)
  const shop = await project('reads', { runtimes: { node: settings('node') } })
  await writeFile(join(shop.path, 'package.json'), '{"scripts":{"start":"node a.js"}}')
  await writeFile(join(shop.path, 'index.html'), '<p>')
  const grown: ProjectSpec = { ...shop.spec, runtimes: { node: settings('node'), static: settings('static') } }
  const resolvedOf = await of.look(shop, [grown, shop.spec], 'now')
  const names = (spec: ProjectSpec) => resolvedOf(spec).workloads.map(({ ref }) => ref.workload)
  assert.deepEqual([names(shop.spec), names(grown)], [['node'], ['node', 'static']])
  assert.equal(reads.count, 1)

  of.handOver(shop.id, 2)
  assert.deepEqual(await of.resolveKnown({ ...shop, spec: grown }, 'handedOver'), resolvedOf(grown))
  assert.deepEqual(await of.resolveKnown(shop, 'handedOver'), resolvedOf(shop.spec))
  assert.equal(reads.count, 1)
  await of.resolveKnown(shop, 'handedOver')
  assert.equal(reads.count, 2, 'what was handed over is used up')
  assert.deepEqual(await of.resolveKnown(shop, 'remembered'), resolvedOf(shop.spec))
  assert.equal(reads.count, 2)
})

test('what was not handed over, or is of other files, is read again', async () => {
  const reads = { count: 0 }
  const of = resolver(reads)
  const shop = await project('again', { runtimes: { node: settings('node') } })
  await of.look(shop, [shop.spec], 'now')
  await of.resolveKnown(shop, 'handedOver')
  assert.equal(reads.count, 2)
  of.handOver(shop.id, 1)
  await of.resolveKnown({ ...shop, spec: { ...shop.spec, runtimes: { php: settings('php') } } }, 'handedOver')
  assert.equal(reads.count, 3)
})

test('a look at a rotation shows another version of that secret alone', async () => {
  const of = resolver()
  const shop = await project('rotated', {
    databases: { main: { type: 'postgresql', version: databaseTypeOf('postgresql')!.releases[0]!.version } as never },
  })
  const resolvedOf = await of.look(shop, [shop.spec], 'now')
  const [before, after] = [resolvedOf(shop.spec), resolvedOf(shop.spec, ['database/main/password'])]
  assert.notDeepEqual(after.workloads, before.workloads)
  assert.deepEqual(resolvedOf(shop.spec, ['database/main/other']).workloads, before.workloads)
})
