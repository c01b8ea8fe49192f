import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  type ApplyContext,
  type Change,
  dataPath,
  type Engine,
  EngineError,
  type EngineEvent,
  type Job,
  type Observed,
  type Workload,
} from '@stackquay/engine-api'
import { waitFor } from '@stackquay/testkit'
import { createDockerEngine } from '../src/docker/index.ts'
import { type DockerHarness, dockerHarness, TEST_ACCOUNT } from './docker-harness.ts'
import { workloadOf } from './docker-workloads.ts'

const PROJECT = 'shop'
const never = new AbortController().signal

describe('the Docker engine on a Docker of its own', () => {
  let harness: DockerHarness
  let engine: Engine
  const output: string[] = []
  const context: ApplyContext = {
    signal: never,
    reveal: async () => 'secret',
    output: (chunk) => void output.push(chunk.text),
  }
  before(async () => {
    harness = await dockerHarness(PROJECT)
    engine = await harness.open()
  })
  after(() => harness.close())

  const apply = async (change: Change) => {
    for (const step of engine.plan(change)) await engine.apply(step, context)
  }
  const start = (workload: Workload) => apply({ type: 'start', workload })
  const remove = ({ ref, title, stop }: Workload) => apply({ type: 'remove', ref, title, stop })
  const refusal = async (promise: Promise<unknown>): Promise<EngineError> => {
    const error: unknown = await promise.then(
      () => null,
      (reason: unknown) => reason,
    )
    assert.ok(error instanceof EngineError, String(error))
    return error
  }
  const observe = async (name: string): Promise<Observed | undefined> =>
    (await engine.observe(PROJECT, never)).find(({ ref }) => ref.workload === name)
  const workload = (name: string, changes: Partial<Workload> = {}): Workload =>
    workloadOf(PROJECT, name, harness.shell('sleep 600'), changes)
  const job = (name: string, script: string, changes: Partial<Job> = {}): Job => {
    const { argv, cwd, container } = harness.shell(script, { data: { main: '/data/main' } })
    assert.ok(container)
    return { name, title: `Job ${name}`, argv, cwd, container, env: {}, timeoutSeconds: 30, inputs: [], ...changes }
  }
  const runJob = async (one: Job, force = false) => {
    output.length = 0
    await apply({ type: 'job', ref: { project: PROJECT, workload: 'jobs' }, job: one, force })
    return output.join('')
  }

  test('it is ready, and says which Docker it uses', async () => {
    const readiness = await engine.probe(never)
    assert.ok(readiness.ready)
    assert.match(readiness.detail, /^Docker \d+/)
  })

  test('a program that takes more memory than it may is said to have been killed for that', async () => {
    const limits = { cpus: null, memoryBytes: 48 * 1024 * 1024, pids: null }
    const hungry = 'const all = []; for (;;) all.push(Buffer.alloc(4 * 1024 * 1024, 1))'
    const one = workload('hungry', { run: harness.script(hungry, { limits }) })
    await start(one).catch(() => {})
    await waitFor('the end', async () => (await observe('hungry'))?.state === 'exited', { timeoutMs: 20_000 })
    const exit = (await observe('hungry'))?.lastExit
    assert.equal(exit?.outOfMemory, true)
    await remove(one)
  })

  test('an unprivileged user may write into new kept data, and what is in it keeps its owner', async () => {
    const script = 'id -u > {data:main}/who && mkdir {data:main}/sub && ls -ldn {data:main}'
    assert.match(await runJob(job('fill', script)), new RegExp(`^d\\S+ \\d+ ${TEST_ACCOUNT.uid} ${TEST_ACCOUNT.gid} `))
    const other = job('other', 'touch {data:main}/denied', {})
    const asRoot = {
      ...other,
      container: { ...harness.container({ data: { main: '/data/main' } }), user: '4711:4711' },
    }
    assert.equal((await refusal(runJob(asRoot))).code, 'job_failed')
    const [size] = await engine.data(PROJECT, never)
    assert.equal(size?.name, 'main')
    assert.ok(size.sizeBytes >= 4096 && size.sizeBytes < 100_000, String(size.sizeBytes))
  })

  test('kept data of another user becomes the project’s with its first container: data that was copied, or is from before', async () => {
    await runJob(
      job(
        'before',
        'mkdir -p {data:main}/deep && echo x > {data:main}/deep/file && ln -sf /etc/passwd {data:main}/out',
      ),
    )
    const own = { uid: 48_212, gid: 48_212 }
    const accounts = {
      of: async () => own,
      known: () => own,
      all: () => [{ project: PROJECT, account: own }],
      shared: undefined,
    }
    const next = await createDockerEngine({ ...harness.options, accounts })
    try {
      const script = 'echo y >> {data:main}/deep/file && cat {data:main}/deep/file && ls -lan {data:main}'
      const { container, ...rest } = job('after', script)
      const change: Change = {
        type: 'job',
        ref: { project: PROJECT, workload: 'jobs' },
        job: { ...rest, container: { ...container!, user: `${own.uid}:${own.gid}` } },
        force: true,
      }
      output.length = 0
      for (const step of next.plan(change)) await next.apply(step, context)
      const said = output.join('')
      assert.match(said, /^x\ny\n/)
      assert.ok(!said.includes(` ${TEST_ACCOUNT.uid} `), said)
      assert.match(said, new RegExp(`l\\S+ +1 +${own.uid} +${own.gid} .* out -> /etc/passwd`))
    } finally {
      await next.close()
    }
    // Back again, for the tests that follow.
    await runJob(job('back', 'rm -r {data:main}/deep {data:main}/out'))
  })

  test('a copy of kept data has the same content, owners and modes', async () => {
    await runJob(job('more', 'ln -s who {data:main}/link && chmod 640 {data:main}/who', {}))
    await engine.copyData({ project: PROJECT, name: 'main' }, { project: 'shop-2', name: 'main' }, {}, never)
    const seen = async (project: string) => {
      const container = harness.container({ data: { main: '/data/main' }, network: project })
      output.length = 0
      const look = { ...job('look', 'cd {data:main} && stat -c "%n %u %g %a %F" . * && cat link', {}), container }
      await apply({ type: 'job', ref: { project, workload: 'jobs' }, job: look, force: true })
      return output.filter((text) => !text.startsWith('G')).join('')
    }
    assert.equal(await seen('shop-2'), await seen(PROJECT))
    await apply({ type: 'remove', ref: { project: 'shop-2', workload: 'jobs' }, title: 'x', stop: workload('x').stop })
    await apply({ type: 'deleteData', project: 'shop-2', data: 'main' })
  })

  test('a job whose work lies in kept data runs once, and again when that is gone', async () => {
    const init = job('init', 'echo made; touch {data:main}/made', { creates: `${dataPath('main')}/made`, once: true })
    assert.match(await runJob(init), /made/)
    assert.doesNotMatch(await runJob(init, true), /made/)
    await runJob(job('undo', 'rm {data:main}/made'), true)
    assert.match(await runJob(init), /made/)
  })

  test('a job runs again when the content of an input changed, here or in kept data', async () => {
    const here = join(harness.directory, 'package.json')
    await writeFile(here, '{}')
    const one = job('install', 'echo installed', { inputs: [here, `${dataPath('main')}/who`] })
    assert.match(await runJob(one), /installed/)
    assert.doesNotMatch(await runJob(one), /installed/)
    await writeFile(here, '{"changed": true}')
    assert.match(await runJob(one), /installed/)
    await runJob(job('touch', 'touch {data:main}/who'), true)
    assert.doesNotMatch(await runJob(one), /installed/)
    await runJob(job('write', 'echo other > {data:main}/who'), true)
    assert.match(await runJob(one), /installed/)
  })

  test('what a failed job made half is removed, where it asks for that', async () => {
    const path = join(harness.directory, 'modules')
    const half = job('half', `mkdir -p ${path}/a && exit 3`, { creates: path, removeCreatesOnFailure: true })
    assert.equal((await refusal(runJob(half))).code, 'job_failed')
    await assert.rejects(readFile(join(path, 'a')), { code: 'ENOENT' })
  })

  test('standard input reaches a job, byte for byte', async () => {
    const text = 'pass\nword \u00fc $HOME'
    assert.ok((await runJob(job('read', 'cat', { stdin: ['', text] }))).endsWith(text))
  })

  test('a workload keeps the build of its image until a newer one is asked for', async () => {
    const image = 'moving:1'
    const point = (command: string) => harness.lab.docker(['build', '-t', image, '-'], command)
    await point(`FROM ${harness.lab.image('debian')}\nLABEL build=one\n`)
    const one = workload('sticky', { run: harness.shell('sleep 600', { image }) })
    await start(one)
    const first = (await observe('sticky'))?.image
    await point(`FROM ${harness.lab.image('debian')}\nLABEL build=two\n`)
    const changed = workload('sticky', { run: one.run, env: { MODE: 'other' } })
    await start(changed)
    assert.deepEqual((await observe('sticky'))?.image, first)
    assert.equal(first?.reference, image)
    await remove(changed)
    await start(one)
    assert.notEqual((await observe('sticky'))?.image?.id, first?.id)
    await remove(one)
  })

  test('an image that is nowhere is said to be unavailable, and one named by an id to be not there', async () => {
    const nowhere = workload('nowhere', { run: harness.shell('true', { image: 'localhost:1/none:1' }) })
    assert.equal((await refusal(start(nowhere))).code, 'image_unavailable')
    const unknown = workload('nowhere', { run: harness.shell('true', { image: 'f'.repeat(64) }) })
    assert.equal((await refusal(start(unknown))).code, 'image_not_found')
  })

  test('a built-in image is built once, on its base', async () => {
    const folder = join(harness.directory, 'image')
    await mkdir(folder)
    await writeFile(join(folder, 'Dockerfile'), 'ARG BASE\nFROM $BASE\nRUN echo built > /built\n')
    const image = 'stackquay/test:1-abc'
    const build = { base: harness.lab.image('debian'), folder }
    output.length = 0
    const one = workload('built', { run: harness.shell('cat /built; sleep 600', { image, build }) })
    await start(one)
    assert.match(output.join(''), /Successfully tagged/)
    output.length = 0
    await start(workload('built', { run: one.run, env: { MODE: 'other' } }))
    assert.equal(output.join(''), '')
    await remove(one)
  })

  test('a program that listens on the inside alone is never ready, and the hint says why', async () => {
    const source = "require('http').createServer(() => {}).listen(8080, '127.0.0.1')"
    const port = await harness.freePort()
    const one = workload('inward', {
      run: harness.script(source),
      ports: [{ name: 'http', port: 8080, hostPort: port, bind: '127.0.0.1' }],
      health: { kind: 'tcp', port: 'http', timeoutSeconds: 2 },
    })
    const error = await refusal(start(one))
    assert.equal(error.code, 'never_ready')
    assert.match(error.hint, /0\.0\.0\.0/)
    await remove(one)
  })

  test('a port that another workload publishes is refused with its name', async () => {
    const ports = [{ name: 'http', port: 8080, hostPort: await harness.freePort(), bind: '127.0.0.1' as const }]
    const first = workload('first', { ports })
    await start(first)
    const owner = await engine.portOwner(ports[0]?.hostPort ?? 0, never)
    assert.deepEqual(owner?.ref, first.ref)
    assert.equal((await refusal(start(workload('second', { ports })))).code, 'port_in_use')
    await remove(first)
    assert.equal(await engine.portOwner(ports[0]?.hostPort ?? 0, never), null)
  })

  test('workloads of a project find each other by their names', async () => {
    const server = workload('server', {
      run: harness.script("require('http').createServer((_, answer) => answer.end('found')).listen(8080)"),
    })
    await start(server)
    const ask = harness.script(
      "const ask = () => fetch('http://server:8080').then((a) => a.text()).then(console.log, () => setTimeout(ask, 50)); ask()",
    )
    assert.match(await runJob({ ...job('ask', ''), argv: ask.argv }), /found/)
    await remove(server)
  })

  test('when Docker is gone nothing is concluded, and when it is back what ended meanwhile is reported', async () => {
    const one = workload('survivor')
    await start(one)
    const events: EngineEvent[] = []
    const stop = new AbortController()
    const watching = (async () => {
      for await (const event of engine.watch(stop.signal)) events.push(event)
    })()
    await harness.lab.kill()
    const error = await refusal(engine.observe(PROJECT, never))
    assert.deepEqual([error.code, error.retryable], ['engine_unavailable', true])
    assert.equal((await engine.probe(never)).ready, false)
    assert.deepEqual(
      events.filter(({ type }) => type !== 'unreachable'),
      [],
    )
    await harness.lab.restart()
    await waitFor('the event', () => events.some(({ type }) => type === 'exited'), { timeoutMs: 30_000 })
    assert.equal((await observe('survivor'))?.state, 'exited')
    await start(one)
    assert.equal((await observe('survivor'))?.state, 'running')
    stop.abort()
    await watching
    await remove(one)
  })

  test('nothing is left of a project whose workloads and data are removed', async () => {
    await apply({
      type: 'remove',
      ref: { project: PROJECT, workload: 'jobs' },
      title: 'Jobs',
      stop: workload('x').stop,
    })
    await apply({
      type: 'remove',
      ref: { project: PROJECT, workload: 'nowhere' },
      title: 'x',
      stop: workload('x').stop,
    })
    await apply({ type: 'remove', ref: { project: PROJECT, workload: 'second' }, title: 'x', stop: workload('x').stop })
    await apply({ type: 'deleteData', project: PROJECT, data: 'main' })
    for (const project of await engine.projects(never)) await engine.removeLogs(project, never)
    assert.deepEqual(await engine.projects(never), [])
    const usage = await engine.usage(never)
    assert.deepEqual(
      usage.filter(({ what }) => what !== 'images').map(({ count }) => count),
      [0, 0, 0],
    )
    assert.deepEqual(await harness.lab.docker(['volume', 'ls', '-q']), '')
  })
})
