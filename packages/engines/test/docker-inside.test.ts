import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { EngineError } from '@stackquay/engine-api'
import { type DockerLab, dockerLab } from '@stackquay/testkit/docker-lab'
import { containerIds, hostPath, mustBeOnHost } from '../src/docker/own-container.ts'
import { freePort } from './native-harness.ts'

const ID = 'a'.repeat(64)

test('the own container is recognised by what Docker mounts into it, its control groups, and its host name', () => {
  const line = (root: string, point: string) => `614 600 8:1 ${root} ${point} rw,relatime - ext4 /dev/sda1 rw`
  const none = { mountinfo: '', cgroup: '', name: 'server' }
  assert.deepEqual(containerIds(none), [])
  const hosts = line(`/var/lib/docker/containers/${ID}/hostname`, '/etc/hostname')
  assert.deepEqual(containerIds({ ...none, mountinfo: hosts }), [ID])
  // A machine sees the mounts of all its containers.
  const ofMachine = line('/', `/var/lib/docker/containers/${ID}/mounts/shm`)
  assert.deepEqual(containerIds({ ...none, mountinfo: ofMachine }), [])
  assert.deepEqual(containerIds({ ...none, cgroup: `4:memory:/docker/${ID}\n` }), [ID])
  assert.deepEqual(containerIds({ ...none, cgroup: `0::/system.slice/docker-${ID}.scope` }), [ID])
  assert.deepEqual(containerIds({ ...none, name: 'abcdef012345' }), ['abcdef012345'])
})

test('a path inside is the path of the longest mount over it, and of nothing else', () => {
  const mounts = [
    { source: '/srv/stackquay', destination: '/data' },
    { source: '/home/ann/shop', destination: '/data/projects/shop' },
    { source: '', destination: '/data/memory' },
    { source: '/', destination: '/machine' },
  ]
  const cases: readonly (readonly [string, string | null])[] = [
    ['/data', '/srv/stackquay'],
    ['/data/projects/other', '/srv/stackquay/projects/other'],
    ['/data/projects/shop', '/home/ann/shop'],
    ['/data/projects/shop/src', '/home/ann/shop/src'],
    ['/data/projects/shopping', '/srv/stackquay/projects/shopping'],
    ['/data/memory/x', null],
    ['/database', null],
    ['/machine/opt/x', '/opt/x'],
    ['/machine', '/'],
  ]
  for (const [path, wanted] of cases) assert.equal(hostPath(mounts, path), wanted, path)
  assert.equal(hostPath([{ source: '/srv', destination: '/' }], '/x'), '/srv/x')
  assert.throws(
    () => mustBeOnHost({ id: ID, isOnHostNetwork: false, mounts }, '/etc'),
    (error) => error instanceof EngineError && error.code === 'engine_cannot' && error.hint.includes('/etc'),
  )
})

describe('the engine in a container of the Docker that it uses', () => {
  let lab: DockerLab
  let root: string
  before(async () => {
    lab = await dockerLab({ images: ['node'] })
    root = await mkdtemp(join(tmpdir(), 'stackquay-inside-'))
    await chmod(root, 0o755)
    await mkdir(join(root, 'project'))
    await writeFile(join(root, 'project', 'told'), 'read through a translated path')
  })
  after(async () => {
    await lab?.close()
    await rm(root, { recursive: true, force: true })
  })

  test('gives folders by the paths of the machine, reaches workloads, and leaves nothing', async () => {
    const repository = fileURLToPath(new URL('../../../', import.meta.url))
    const child = join('/repository', 'packages/engines/test/docker-inside-child.ts')
    const mounts = [`${lab.socketPath}:/var/run/docker.sock`, `${repository}:/repository:ro`, `${root}:/inside`]
    const { code, stdout, stderr } = await lab.try([
      'run',
      '--rm',
      ...mounts.flatMap((mount) => ['--volume', mount]),
      lab.image('node'),
      ...['node', child, lab.image('node'), '/inside/home', '/inside/project', '/opt', String(await freePort())],
    ])
    assert.equal(code, 0, `${stdout}${stderr}`)
    const seen = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
    assert.equal(seen.refused.code, 'engine_cannot')
    assert.match(seen.refused.hint, /Mount a folder of the machine at \/opt/)
    assert.equal(seen.answer, 'read through a translated path')
    assert.equal(seen.health, 'healthy')
    assert.ok(seen.address.host.startsWith(lab.addressPrefix), seen.address.host)
    assert.equal(seen.address.port, 8080)
    assert.deepEqual(seen.left, ['inside'])
    assert.equal(await lab.docker(['network', 'ls', '-q', '--filter', 'label=stackquay.instance']), '')
    assert.equal(await lab.docker(['ps', '-aq']), '')
  })
})
