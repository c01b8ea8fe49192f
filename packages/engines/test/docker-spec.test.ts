import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Container, EngineError } from '@stackquay/engine-api'
import { meterIn } from '../src/docker/cgroup.ts'
import { type ContainerProgram, containerSpec } from '../src/docker/container-spec.ts'
import type { Daemon } from '../src/docker/daemon.ts'
import { withReason } from '../src/docker/exit.ts'
import { registryOf } from '../src/docker/images.ts'
import { isManaged, objectName } from '../src/docker/labels.ts'
import { momentBeforeStart } from '../src/docker/logs/container-output.ts'
import { parseNetworks } from '../src/docker/network-usage.ts'
import { pullProgress } from '../src/docker/pull-progress.ts'

const daemon = { instance: 'abc' } as Daemon

const container: Container = {
  image: 'postgres:15',
  build: null,
  user: '999:999',
  network: 'shop',
  folders: [{ path: '/srv/shop', readOnly: true }],
  data: { main: '/var/lib/postgresql/data' },
  limits: { cpus: 0.5, memoryBytes: 64 * 1024 * 1024, pids: null },
}
const program: ContainerProgram = {
  name: 'stackquay-abc.shop.db',
  labels: { 'stackquay.project': 'shop' },
  argv: ['/usr/bin/postgres', '-D', '/x'],
  cwd: '/',
  env: ['A=1'],
  container,
  volumes: new Map([['main', { volume: 'stackquay-abc.shop.data.main' }]]),
  imageVolumes: ['/var/lib/postgresql/data', '/scratch'],
  alias: 'db',
  terminal: false,
  stdin: false,
  ports: [{ name: 'postgresql', port: 5432, hostPort: 15_432, bind: '127.0.0.1' }],
}

test('a container gets all that it is given, and no way out', () => {
  assert.deepEqual(containerSpec(daemon, program), {
    name: 'stackquay-abc.shop.db',
    Image: 'postgres:15',
    Labels: { 'stackquay.project': 'shop' },
    User: '999:999',
    Entrypoint: ['/usr/bin/postgres', '-D', '/x'],
    Cmd: [],
    WorkingDir: '/',
    Env: ['A=1'],
    Tty: false,
    OpenStdin: false,
    StdinOnce: false,
    AttachStdin: false,
    AttachStdout: true,
    AttachStderr: true,
    Healthcheck: { Test: ['NONE'] },
    Hostname: 'db',
    ExposedPorts: { '5432/tcp': {} },
    HostConfig: {
      Init: true,
      Privileged: false,
      CapDrop: ['ALL'],
      CapAdd: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID'],
      SecurityOpt: ['no-new-privileges'],
      RestartPolicy: { Name: 'no' },
      AutoRemove: false,
      NetworkMode: 'stackquay-abc.shop.network',
      IpcMode: 'private',
      LogConfig: { Type: 'json-file', Config: { 'max-size': '128m', 'max-file': '2' } },
      PidsLimit: 2048,
      NanoCpus: 500_000_000,
      Memory: 64 * 1024 * 1024,
      MemorySwap: 64 * 1024 * 1024,
      PortBindings: { '5432/tcp': [{ HostIp: '127.0.0.1', HostPort: '15432' }] },
      Mounts: [
        { Type: 'bind', Source: '/srv/shop', Target: '/srv/shop', ReadOnly: true },
        { Type: 'volume', Source: 'stackquay-abc.shop.data.main', Target: '/var/lib/postgresql/data' },
      ],
      Tmpfs: { '/scratch': 'mode=1777' },
    },
    NetworkingConfig: { EndpointsConfig: { 'stackquay-abc.shop.network': { Aliases: ['db'] } } },
  })
})

test('an image that would hide a part of kept data in a volume of its own is refused', () => {
  const hiding = { ...program, container: { ...container, data: { main: '/var/lib/postgresql' } } }
  assert.throws(
    () => containerSpec(daemon, hiding),
    (error) => error instanceof EngineError && error.code === 'engine_cannot',
  )
})

test('names of objects cannot be read in two ways, and what could leave a name is refused', () => {
  assert.notEqual(objectName(daemon, 'a-b', 'c'), objectName(daemon, 'a', 'b-c'))
  assert.notEqual(objectName(daemon, 'a', 'web', 'job', 'install'), objectName(daemon, 'a', 'web-job-install'))
  assert.throws(() => objectName(daemon, 'a.b'), EngineError)
})

test('only an object with the id of this installation, a project and a role is managed', () => {
  const labels = { 'stackquay.instance': 'abc', 'stackquay.project': 'p', 'stackquay.role': 'workload' }
  assert.ok(isManaged(daemon, labels))
  assert.ok(!isManaged(daemon, { ...labels, 'stackquay.instance': 'abcd' }))
  assert.ok(!isManaged(daemon, { 'stackquay.instance': 'abc' }))
  assert.ok(!isManaged(daemon, null))
})

test('the registry of an image is named as registries name themselves', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['redis:7', 'docker.io'],
    ['library/redis', 'docker.io'],
    ['registry.example.org/team/app:1', 'registry.example.org'],
    ['localhost:5000/app', 'localhost:5000'],
    ['localhost/app', 'localhost'],
  ]
  for (const [image, registry] of cases) assert.equal(registryOf(image), registry)
})

test('the progress of a pull is reported once a second, however many layers report', async () => {
  let time = 0
  async function* messages() {
    yield { status: 'Pulling from library/redis', id: '7' }
    for (let at = 0; at < 100; at++) {
      time += 25
      yield { status: 'Downloading', id: `layer${at % 4}`, progressDetail: { current: 1e6 * (at + 1), total: 1e8 } }
    }
    yield { status: 'Pull complete', id: 'layer0' }
  }
  const lines = await Array.fromAsync(pullProgress('redis:7', messages(), () => time))
  assert.equal(lines.length, 4)
  assert.match(lines[1] ?? '', /^0 of 4 layers, \d+\.\d of 400\.0 MB\n$/)
})

test('use of both versions of control groups is read alike', () => {
  const read = (files: Record<string, string>) => (path: string) => files[path] ?? null
  const wanted = { cpuSeconds: 1.5, memoryBytes: 900, processes: 3, readBytes: 40, writtenBytes: 60 }
  assert.deepEqual(
    meterIn({
      groups: '0::/docker/x\n',
      read: read({
        '/sys/fs/cgroup/docker/x/cpu.stat': 'usage_usec 1500000\nuser_usec 1\n',
        '/sys/fs/cgroup/docker/x/memory.current': '1000\n',
        '/sys/fs/cgroup/docker/x/memory.stat': 'anon 5\ninactive_file 100\n',
        '/sys/fs/cgroup/docker/x/pids.current': '3\n',
        '/sys/fs/cgroup/docker/x/io.stat': '8:0 rbytes=10 wbytes=20 rios=1\n8:16 rbytes=30 wbytes=40 rios=1\n',
      }),
    })?.(),
    wanted,
  )
  const v1 = (controller: string, file: string) => `/sys/fs/cgroup/${controller}/docker/x/${file}`
  assert.deepEqual(
    meterIn({
      groups: '5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n3:pids:/docker/x\n2:blkio:/docker/x\n0::/\n',
      read: read({
        [v1('cpuacct', 'cpuacct.usage')]: '1500000000\n',
        [v1('memory', 'memory.usage_in_bytes')]: '1000\n',
        [v1('memory', 'memory.stat')]: 'cache 5\ntotal_inactive_file 100\n',
        [v1('pids', 'pids.current')]: '3\n',
        [v1('blkio', 'blkio.throttle.io_service_bytes')]: '8:0 Read 40\n8:0 Write 60\n8:0 Total 100\nTotal 100\n',
      }),
    })?.(),
    wanted,
  )
})

test('a log begins before the first line also of a program that ended before Docker noted its start', () => {
  const [Created, FinishedAt] = ['2026-11-23T19:37:44.100Z', '2026-11-23T19:37:44.500Z']
  const made = Date.parse(Created)
  assert.equal(momentBeforeStart({ Created, State: { Running: false, FinishedAt } }), made)
  assert.equal(momentBeforeStart({ Created, State: { Running: true, FinishedAt: '0001-01-01T00:00:00Z' } }), made)
  assert.equal(momentBeforeStart({ Created, State: { Running: true, FinishedAt } }), Date.parse(FinishedAt))
})

test('that memory was the reason of an end is waited for a moment, and only then', async () => {
  const killed = { State: { Running: false, ExitCode: 137, OOMKilled: false } }
  const late = { State: { ...killed.State, OOMKilled: true } }
  let asked = 0
  const after = (looks: number) => async () => (++asked >= looks ? late : killed)
  assert.equal(await withReason(killed, after(2)), late)
  assert.equal(asked, 2)
  const ended = { State: { ...killed.State, ExitCode: 1 } }
  const none = async () => assert.fail('nothing to wait for')
  assert.equal(await withReason(ended, none), ended)
  assert.equal(await withReason(killed, none, AbortSignal.abort()), killed)
})

test('bytes of a container are those of all its interfaces but the loopback', () => {
  const head =
    'Inter-|   Receive                |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets\n'
  const lines =
    '    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n  eth0:1500 3 0 0 0 0 0 0 700 4 0 0 0 0 0 0\neth1: 20 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0\n'
  assert.deepEqual(parseNetworks(head + lines), { receivedBytes: 1520, sentBytes: 730 })
  assert.deepEqual(parseNetworks(head), { receivedBytes: null, sentBytes: null })
})
