import assert from 'node:assert/strict'
import { existsSync, globSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { ProjectView, WorkloadStatus } from '@stackquay/contract'
import { type Service, startService, until } from './support/service.ts'
import { giveToProjects, makeSourceRoot, type SourceRoot } from './support/source-root.ts'
import { askSteadily, median } from './support/steady-answers.ts'

const MiB = 1024 * 1024
const limits = { cpus: 0.5, memoryBytes: 192 * MiB, pids: 80 }
const ROUNDS = 8
const ROUND_MS = 400

const neighbour =
  "require('http').createServer((_, answer) => answer.end('well')).listen(process.env.PORT, process.env.HOST)"

/** Does harm on request, and goes on answering where it can. */
const culprit = `
const { spawn } = require('child_process')
const { Worker } = require('worker_threads')
const eats = 'const all = []; for (;;) all.push(Buffer.alloc(4 << 20, 1))'
const forks = 'import os\\nwhile True:\\n  try: os.fork()\\n  except OSError: pass'
const harm = {
  '/memory': () => setImmediate(() => eval(eats)),
  '/workers': function again() { spawn(process.execPath, ['-e', eats], { stdio: 'ignore' }).on('exit', again) },
  '/forks': () => spawn('/usr/bin/python3', ['-c', forks], { stdio: 'ignore' }),
  '/spin': () => [1, 2].forEach(() => new Worker('for (;;);', { eval: true })),
}
require('http').createServer((request, answer) => {
  harm[request.url]?.()
  answer.end('done')
}).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`

describe('a project that does harm to its machine', () => {
  let service: Service
  let root: SourceRoot
  let asking: ReturnType<typeof askSteadily>
  before(async () => {
    // Files are made by the hundred thousand: quicker in memory than on a disk that others use.
    root = await makeSourceRoot(existsSync('/dev/shm') ? '/dev/shm' : undefined)
    service = await startService({ roots: root.path })
    await make('neighbour', neighbour)
    await make('culprit', culprit, { limits })
    asking = askSteadily(service, 'neighbour')
  })
  after(async () => {
    await asking?.end()
    await service?.close()
    await root?.remove()
  })

  it('can be held to limits on this machine', async () => {
    const project = await view()
    assert.equal(project.limitsUnavailable, null)
    assert.deepEqual(project.limits, { ...limits, workloads: {} })
  })

  it('takes no more than its memory: it is ended, started again, and says why', { timeout: 60_000 }, async () => {
    await service.get('culprit', '/memory').catch(() => undefined)
    await until(async () => (await workload()).restarts >= 1, 'the program to be started again', 20_000)
    await until(async () => (await workload()).state === 'running', 'the program to run', 20_000)
    assert.equal((await workload()).lastExit?.outOfMemory, true)
  })

  it('says that children were ended for their memory, while it goes on', { timeout: 60_000 }, async (t) => {
    await until(async () => (await service.get('culprit')).status === 200, 'the culprit to answer', 20_000)
    await service.get('culprit', '/workers')
    await neighbourAside(t)
    await until(async () => (await warnings()).includes('out_of_memory'), 'the warning', 20_000)
    const warning = (await view()).status.warnings.find(({ code }) => code === 'out_of_memory')
    assert.match(warning?.detail ?? '', /at its limit of 192 MiB/)
    await act('restartProject')
  })

  it('makes no more processes than it may, says so, and ends with a stop', { timeout: 90_000 }, async (t) => {
    await service.get('culprit', '/forks')
    await neighbourAside(t)
    await until(async () => (await warnings()).includes('too_many_processes'), 'the warning', 20_000)
    const begun = performance.now()
    await act('stopProject')
    assert.ok(performance.now() - begun < 15_000, `the stop took ${performance.now() - begun} ms`)
    await act('startProject')
    assert.deepEqual(await warnings(), [])
  })

  it('takes no more than its share of the CPU', { timeout: 60_000 }, async (t) => {
    await service.get('culprit', '/spin')
    await neighbourAside(t)
    const cpuOf = async () => (await service.client.call('getProjectStats', { params: { id: 'culprit' } })) as Stats
    await cpuOf()
    await delay(2000)
    const cpu = (await cpuOf()).items.find((item) => item.workload === 'node')?.cpu
    assert.ok(cpu != null && cpu <= 0.6, `it got ${cpu} of a core`)
    await act('stopProject')
    await act('startProject')
  })

  it('may have a hundred thousand files', { timeout: 90_000 }, async (t) => {
    const folder = join(root.path, 'culprit', 'many')
    await mkdir(folder)
    for (let at = 0; at < 100; at += 1) {
      await Promise.all(Array.from({ length: 1000 }, (_, one) => writeFile(join(folder, `${at}-${one}`), '')))
    }
    await giveToProjects(folder)
    const took: string[] = []
    const timed = async (what: string, work: Promise<unknown>) => {
      const begun = performance.now()
      await work
      const milliseconds = Math.round(performance.now() - begun)
      took.push(`${what} ${milliseconds} ms`)
      assert.ok(milliseconds < 15_000, took.join(', '))
    }
    await timed('read', view())
    await timed('actions', service.client.call('listActions', { params: { id: 'culprit' } }))
    const quiet: number[] = []
    const noisy: number[] = []
    for (let round = 0; round < 4; round += 1) {
      // A restart costs something on any machine; what counts is what the files add.
      await rename(folder, join(root.path, 'many'))
      quiet.push(...(await asking.during(act('restartProject'))))
      await rename(join(root.path, 'many'), folder)
      noisy.push(...(await asking.during(timed('restart', act('restartProject')))))
    }
    compare(t, quiet, noisy)
    const deletion = { params: { id: 'culprit' }, query: { confirm: 'culprit', wait: 30 } }
    await timed('delete', service.client.call('deleteProject', deletion))
    t.diagnostic(took.join(', '))
    assert.deepEqual(asking.failures, [], 'the neighbour always answered')
  })

  /** In turns with the culprit frozen and thawed: what else the machine does is the same in both. */
  async function neighbourAside(t: TestContext) {
    const { id } = await view()
    const [file] = globSync(`/sys/fs/cgroup/{,unified/}stackquay-*/${id}/w-node/cgroup.freeze`)
    assert.ok(file !== undefined, 'its control group can be frozen')
    const quiet: number[] = []
    const noisy: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      await writeFile(file, '1')
      await delay(50)
      quiet.push(...(await asking.during(delay(ROUND_MS))))
      await writeFile(file, '0')
      noisy.push(...(await asking.during(delay(ROUND_MS))))
    }
    compare(t, quiet, noisy)
  }

  function compare(t: TestContext, quiet: readonly number[], noisy: readonly number[]) {
    const [usual, meanwhile] = [median(quiet), median(noisy)]
    const said = `the neighbour answers in ${usual.toFixed(1)} ms usually (${quiet.length}) and ${meanwhile.toFixed(1)} ms meanwhile (${noisy.length})`
    t.diagnostic(said)
    assert.ok(meanwhile <= 2 * usual + NOISE_MS, said)
  }

  async function make(name: string, program: string, more: object = {}) {
    const path = await root.folder(name, {
      'package.json': JSON.stringify({ name, scripts: { start: 'node server.js' } }),
      'server.js': program,
    })
    const body = { name, path, node: {}, ...more }
    const made = await service.client.call('createProject', { body, query: { wait: 60 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation, null, 2))
  }

  async function act(operation: 'stopProject' | 'startProject' | 'restartProject') {
    const done = await service.client.call(operation, { params: { id: 'culprit' }, query: { wait: 60 } })
    assert.equal(done.state, 'succeeded', JSON.stringify(done, null, 2))
  }

  const view = async () => (await service.client.call('getProject', { params: { id: 'culprit' } })) as ProjectView
  const warnings = async () => (await view()).status.warnings.map(({ code }) => code)
  const workload = async () => (await view()).status.workloads.find(({ name }) => name === 'node') as WorkloadStatus
})

/** Of the machine itself, which other tests use too. */
const NOISE_MS = 2

interface Stats {
  readonly items: readonly { readonly workload: string; readonly cpu: number | null }[]
}
