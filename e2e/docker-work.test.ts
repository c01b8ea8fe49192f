import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Backup, OperationRecord, ProjectView } from '@stackquay/contract'
import { freePort, makeKey } from '@stackquay/testkit'
import { images } from '@stackquay/testkit/docker-lab'
import { objectsNaming } from './support/docker-objects.ts'
import { type DockerService, lines, startDockerService } from './support/docker-service.ts'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { withKeys } from './support/keys.ts'
import { until } from './support/service.ts'
import { addSshKey, type SshClient, sshClient } from './support/ssh-client.ts'

const execute = promisify(execFile)

/** As an administrator describes one: an image with data that is kept. */
const keeper = `name: keeper
title: Keeper
description: Keeps keys.
versions: [{version: '7.0', image: '${images.redis}'}]
command: [/usr/bin/redis-server, --bind, '\${host}', --port, '\${port.main}', --dir, '\${data}', --appendonly, 'yes', --protected-mode, 'no']
user: redis
secrets: [token]
env: {KEEPER_TOKEN: '\${secret.token}'}
ports: [{name: main, port: 6390}]
volumes: [{path: /data}]
injects: {KEEPER_URL: 'redis://\${host}:\${port.main}'}
credentials:
  - {label: url, value: 'redis://\${host}:\${port.main}'}
  - {label: token, value: '\${secret.token}', secret: true}
`

const server = (text: string) => `
require('node:http').createServer((request, response) => response.end('${text}')).listen(process.env.PORT)
`
/** Says where the addon is, once it was reached there. */
const reach = `
const { hostname, port } = new URL(process.env.KEEPER_URL)
require('node:net').connect(port, hostname, function () { console.log(hostname + ':' + port); this.destroy() })
`
const file = `name: Shop
node:
  version: "${lines.node}"
  preset: generic
  command: [node, server.js]
hooks:
  deploy: {command: [node, migrate.js], timeoutSeconds: 60}
cron:
  reach: {schedule: "0 3 * * *", command: [node, reach.js]}
`

/** What people do with a project all day, the same as on the native engine. */
describe('work in a project in containers', () => {
  let service: DockerService
  let git: GitServer
  let work: string
  let client: SshClient
  let path: string
  const params = { id: 'shop' }
  const query = { wait: 120 }

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'stackquay-docker-work-'))
    const files = {
      'server.js': server('one'),
      'reach.js': reach,
      'migrate.js': `require('node:fs').writeFileSync('migrated', process.env.STACKQUAY_HOOK + ' ' + process.getuid())`,
      'package.json': '{"name": "shop", "private": true}\n',
      '.gitignore': 'migrated\nfar\ndeep\n',
      'stackquay.yml': file,
    }
    await mkdir(join(work, 'source'))
    for (const [name, text] of Object.entries(files)) await writeFile(join(work, 'source', name), text)
    await publishRepository(join(work, 'source'), join(work, 'shop.git'))
    const port = await freePort()
    ;[git, service] = await Promise.all([
      serveGit(work, { username: 'grace', password: 'unasked' }),
      startDockerService(['node', 'redis'], { env: { STACKQUAY_SSH: `127.0.0.1:${port}` } }),
    ])
    await service.client.call('addAddon', { body: { yaml: keeper } })
    const body = { name: 'Shop', git: { url: git.url('shop.git') }, start: true }
    const made = await service.client.call('createProject', { body, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation, null, 2))
    path = made.path
    await makeKey(join(work, 'key'), 'ed25519')
    client = sshClient(port, join(work, 'key'), work)
    await addSshKey(service, join(work, 'key'))
  })
  after(async () => {
    await Promise.all([service?.close(), git?.close()])
    if (work !== undefined) await rm(work, { recursive: true, force: true })
  })

  const succeeded = ({ state, error }: OperationRecord) => assert.equal(state, 'succeeded', JSON.stringify(error))
  const shown = async () => (await service.client.call('getProject', { params })) as ProjectView
  const credentials = async (id = 'shop') =>
    (await service.client.call('getAddonCredentials', { params: { id, name: 'keeper' } })) as {
      url: string
      token: string
    }
  const settings = (name: string) => ({ params: { id: name, name: 'keeper' }, query })

  it('an addon is an image with data that outlives it, in backups too', { timeout: 240_000 }, async () => {
    const set = (await service.client.call('setProjectAddon', { ...settings('shop'), body: {} })) as ProjectView
    assert.equal(set.operation?.state ?? 'succeeded', 'succeeded', JSON.stringify(set.operation))
    const states = (await shown()).status.workloads.map(({ name, state }) => [name, state])
    assert.deepEqual(states.sort(), [
      ['keeper', 'running'],
      ['node', 'running'],
    ])
    const { url, token } = await credentials()
    await withKeys(url, (keys) => keys.set('colour', 'green'))
    await service.client.call('disableProjectAddon', settings('shop'))
    assert.deepEqual(await objectsNaming(service.lab, 'keeper', ['container']), [])
    const { keptData } = await service.client.call('listExtras', { params })
    assert.deepEqual(
      keptData.map(({ kind }) => kind),
      ['keeper'],
    )
    const backup = (await service.client.call('createBackup', { params, query })) as Backup
    assert.ok(
      backup.parts.some(({ id }) => id === 'service:keeper'),
      JSON.stringify(backup),
    )
    await service.client.call('setProjectAddon', { ...settings('shop'), body: {} })
    assert.equal(await withKeys((await credentials()).url, (keys) => keys.get('colour')), 'green')

    await service.client.call('restoreBackupAs', { params: { backup: backup.id }, body: { name: 'Again' }, query })
    await service.client.call('setProjectAddon', { ...settings('again'), body: {} })
    succeeded(await service.client.call('startProject', { params: { id: 'again' }, query }))
    const again = await credentials('again')
    assert.deepEqual([again.token === token, again.url === url], [true, false])
    assert.equal(await withKeys(again.url, (keys) => keys.get('colour')), 'green')
    const gone = { confirm: 'again', data: 'delete', purge: true, wait: 60 } as const
    succeeded(await service.client.call('deleteProject', { params: { id: 'again' }, query: gone }))
  })

  it('SSH has commands, shells and files', { timeout: 120_000 }, async () => {
    const ran = await client.ssh(
      'shop',
      'test -f /.dockerenv && node --version; id -u; cat; echo err >&2; exit 7',
      [],
      'in',
    )
    assert.deepEqual([ran.code, ran.err], [7, 'err\n'])
    assert.match(ran.out, /^v\d+\.\d+\.\d+\n[1-9]\d*\nin$/)
    // In the container of the addon, as its user; a terminal in one of its own beside it, without its data.
    const beside = await client.ssh('shop+keeper', 'redis-cli -p 6390 get colour; id -un; echo $KEEPER_URL; ls /data')
    assert.deepEqual([beside.code, beside.err], [0, ''])
    assert.match(beside.out, /^green\nredis\nredis:\/\/keeper:6390\nappend/)
    const there = 'redis-cli -h keeper -p 6390 get colour; id -un; ls /data'
    const terminal = await client.ssh('shop+keeper', there, ['-tt'])
    assert.match(terminal.out, /^"green"\r\nredis\r\n$/, terminal.err)
    const shell = await client.ssh('shop', 'tty; exit 3', ['-tt'])
    assert.equal(shell.code, 3, shell.err)
    assert.match(shell.out, /\/dev\/pts\/\d+/)

    const bytes = randomBytes(3_000_000)
    await writeFile(join(work, 'near'), bytes)
    const lines = [
      'mkdir deep',
      `put ${join(work, 'near')} far`,
      'rename far deep/far',
      `get deep/far ${join(work, 'back')}`,
    ]
    const files = await client.sftp('shop', lines)
    assert.equal(files.code, 0, files.err)
    assert.ok((await readFile(join(work, 'back'))).equals(bytes))
    const seen = await client.ssh('shop', 'wc -c < deep/far && echo more >> deep/far')
    assert.deepEqual([seen.code, seen.out.trim()], [0, '3000000'], seen.err)
    assert.equal((await client.sftp('shop', ['rm deep/far', 'rmdir deep'])).code, 0)
  })

  it('SSH ends a program with its client, and lets one in a terminal go on', { timeout: 120_000 }, async () => {
    const containers = async () => (await service.lab.docker(['ps', '-aq'])).split('\n').sort().join()
    const before = await containers()
    // As this machine sees it: what is run has a container of its own.
    const running = () =>
      execute('pgrep', ['-fx', 'sleep 31415']).then(
        () => true,
        () => false,
      )
    const begin = async (...options: readonly string[]) => {
      const child = client.start('ssh', [
        ...client.options,
        ...options,
        'shop@127.0.0.1',
        'echo here; exec sleep 31415',
      ])
      await once(child.stdout!, 'data')
      await until(running, 'the program to run')
      child.kill('SIGKILL')
    }
    await begin()
    await until(async () => !(await running()), 'the program to be ended')
    await until(async () => (await containers()) === before, 'its container to be gone')
    await begin('-tt')
    const terminals = async () =>
      (await service.client.call('listTerminals', { params })).items.filter(({ state }) => state === 'running')
    await until(async () => (await terminals())[0]?.viewers === 0, 'the client to be missed')
    assert.ok(await running())
    await service.client.call('endTerminal', { params: { id: 'shop', term: (await terminals())[0]!.id } })
    await until(async () => !(await running()), 'the program to be ended')
  })

  it('SSH leads to the ports of its containers, and to no other', { timeout: 120_000 }, async () => {
    const [named, local] = [await freePort(), await freePort()]
    const node = (await shown()).status.workloads.find(({ name }) => name === 'node')!
    const ways = client.start('ssh', [
      ...client.options,
      '-N',
      ...['-L', `127.0.0.1:${named}:keeper:6390`, '-L', `127.0.0.1:${local}:localhost:${node.ports[0]!.port}`],
      'shop@127.0.0.1',
    ])
    try {
      const page = () => fetch(`http://127.0.0.1:${local}/`).then((answer) => answer.text())
      await until(async () => (await page().catch(() => null)) === 'one', 'the program of the project to be reached')
      assert.equal(await withKeys(`redis://127.0.0.1:${named}`, (keys) => keys.get('colour')), 'green')
    } finally {
      ways.kill()
      await once(ways, 'close')
    }
    const foreign = new URL(service.url).port
    for (const to of ['localhost:22', `localhost:${foreign}`, `127.0.0.1:${foreign}`]) {
      const elsewhere = await client.run(
        'ssh',
        [...client.options, '-W', to, 'shop@127.0.0.1'],
        'GET / HTTP/1.0\r\n\r\n',
      )
      assert.deepEqual([elsewhere.out, elsewhere.code], ['', 255], to)
    }
  })

  it('cron reaches the addon, and a deploy runs its hook and restarts what changed', { timeout: 120_000 }, async () => {
    const run = await service.client.call('runCronJob', { params: { ...params, name: 'reach' }, query: { wait: 60 } })
    assert.deepEqual([run.state, run.exitCode], ['succeeded', 0], JSON.stringify(run))
    await writeFile(join(work, 'source', 'server.js'), server('two'))
    const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com']
    for (const args of [
      [...identity, 'commit', '--quiet', '--all', '--message', 'Two'],
      ['push', '--quiet', '../shop.git', 'main'],
    ])
      await execute('git', args, { cwd: join(work, 'source') })
    const deploy = await service.client.call('createDeploy', { params, query })
    assert.equal(deploy.state, 'succeeded', JSON.stringify(deploy))
    assert.equal((await service.get('shop')).body, 'two')
    assert.match(await readFile(join(path, 'migrated'), 'utf8'), /^deploy [1-9]\d*$/)
    const { release } = (await service.client.call('listDeploys', { params })).items[0]!
    const running = (await service.lab.docker(['ps', '-q'])).trim().split('\n')
    const builds = await service.lab.docker(['inspect', '--format', '{{.Image}}', ...running])
    assert.deepEqual(Object.keys(release?.images ?? {}).sort(), ['keeper', 'node'])
    for (const id of Object.values(release!.images)) assert.ok(builds.includes(id), `${id} in ${builds}`)
    assert.deepEqual([release?.runtimes, release?.generation], [{}, (await shown()).generation])
  })

  it('sleeps, and is woken by a request and by SSH, with its data', { timeout: 120_000 }, async () => {
    for (const wake of [
      async () => assert.equal((await service.get('shop')).body, 'two'),
      async () => assert.match((await client.ssh('shop', 'node --version')).out, /^v\d/),
    ]) {
      succeeded(await service.client.call('sleepProject', { params, query }))
      assert.equal((await shown()).status.state, 'sleeping')
      await wake()
      assert.equal((await shown()).status.state, 'running')
    }
    assert.equal(await withKeys((await credentials()).url, (keys) => keys.get('colour')), 'green')
  })
})
