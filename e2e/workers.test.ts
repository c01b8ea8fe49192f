import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { createClient } from '@stackquay/client'
import { isAlive } from '@stackquay/testkit'
import { type Service, startService, until } from './support/service.ts'

/** Says who it is, and ends when it is asked to. */
const workerProgram = `
console.log('mode ' + process.env.NODE_ENV + ' greeting ' + process.env.GREETING + ' port ' + process.env.PORT)
process.on('SIGTERM', () => { console.log('ends what it is at'); process.exit(0) })
setInterval(() => {}, 1000)
`
const cronProgram = `
import { appendFileSync } from 'node:fs'
appendFileSync('ran.txt', '.')
console.log('cleaned ' + process.env.GREETING)
process.exit(process.argv[2] === 'badly' ? 3 : 0)
`
const slowProgram = `
import { appendFileSync } from 'node:fs'
appendFileSync('slow.txt', '.')
console.log('pid ' + process.pid)
setInterval(() => {}, 1000)
`

describe('workers and cron jobs of a project', () => {
  let service: Service
  let path = ''
  before(async () => {
    service = await startService()
    const body = {
      name: 'shop',
      node: { server: false },
      env: { GREETING: 'hello' },
      workers: { queue: { command: 'node worker.mjs', count: 2 } },
      start: false,
    }
    const made = await service.client.call('createProject', { body, query: { wait: 60 } })
    path = made.path
    const files = {
      'package.json': JSON.stringify({ name: 'shop', private: true }),
      'worker.mjs': workerProgram,
      'clean.mjs': cronProgram,
      'slow.mjs': slowProgram,
    }
    for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text)
    await service.client.call('startProject', { params: { id: 'shop' }, query: { wait: 60 } })
  })
  after(() => service.close())

  const id = 'shop'
  const project = (slug = id) => service.client.call('getProject', { params: { id: slug } })
  const patch = (body: object, slug = id) =>
    service.client.call('updateProject', { params: { id: slug }, body, query: { wait: 60 } })
  const workloads = async (slug = id) =>
    Object.fromEntries((await project(slug)).status.workloads.map((workload) => [workload.name, workload]))
  const running = async (...names: readonly string[]) => {
    const all = await workloads()
    return names.every((name) => all[name]?.state === 'running')
  }
  const counted = async (file: string) => (await readFile(join(path, file), 'utf8').catch(() => '')).length
  const runsOf = (name: string) =>
    service.client.call('listRuns', { params: { id }, query: { kind: 'cron', name } }).then(({ items }) => items)

  it('two instances run in the place of the runtime, without a port; one that is killed comes back beside the other', async () => {
    await until(() => running('queue-1', 'queue-2'), 'both instances')
    const before = await workloads()
    assert.deepEqual([before['queue-1']!.kind, before['queue-1']!.health], ['worker', 'none'])
    const log = await service.client.call('getProjectLogs', { params: { id }, query: { workload: 'queue-1' } })
    assert.match(JSON.stringify(log), /mode development greeting hello port undefined/)
    process.kill(before['queue-1']!.pid!, 'SIGKILL')
    await until(async () => {
      const now = (await workloads())['queue-1']!
      return now.state === 'running' && now.pid !== before['queue-1']!.pid && now.restarts > 0
    }, 'the killed instance to come back')
    assert.equal((await workloads())['queue-2']!.pid, before['queue-2']!.pid)
  })

  it('another count starts and stops instances, and no other one restarts', async () => {
    const before = await workloads()
    await patch({ workers: { queue: { count: 3 } } })
    assert.ok(await running('queue-1', 'queue-2', 'queue-3'))
    await service.client.call('putWorker', {
      params: { id, name: 'queue' },
      body: { command: ['node', 'worker.mjs'], count: 1 },
      query: { wait: 60 },
    })
    const now = await workloads()
    assert.deepEqual(Object.keys(now), ['queue-1'])
    assert.equal(now['queue-1']!.pid, before['queue-1']!.pid)
    assert.equal(await isAlive(before['queue-2']!.pid!), false)
  })

  it('a cron job is run by hand with its output and exit code; a failure is told', async () => {
    const cron = {
      clean: { schedule: '0 3 * * *', command: 'node clean.mjs', timezone: 'Europe/Berlin', timeLimit: '10m' },
      bad: { schedule: '0 3 * * *', command: 'node clean.mjs badly' },
    }
    const set = await patch({ cron })
    assert.deepEqual([set.cron?.clean?.lastRun, await counted('ran.txt')], [null, 0], 'never at once')
    assert.ok(Date.parse(set.cron!.clean!.nextAt!) > Date.now())
    const run = await service.client.call('runCronJob', { params: { id, name: 'clean' }, query: { wait: 30 } })
    assert.deepEqual([run.state, run.exitCode, run.dueAt, run.kind], ['succeeded', 0, null, 'cron'], service.output())
    const output = await fetch(`${service.url}/api/v1/projects/${id}/runs/${run.id}/output`, {
      headers: { authorization: `Bearer ${service.token}` },
    })
    assert.match(await output.text(), /^cleaned hello$/m)
    const bad = await service.client.call('runCronJob', { params: { id, name: 'bad' }, query: { wait: 30 } })
    assert.deepEqual([bad.state, bad.exitCode], ['failed', 3])
    const { status, cron: jobs } = await project()
    assert.deepEqual([status.state, jobs?.bad?.lastRun?.exitCode], ['running', 3])
    assert.ok(status.warnings.some(({ code, detail }) => code === 'cron_failed' && detail.includes('"bad"')))
    await patch({ cron: { bad: null } })
  })

  it('a service that is killed finds a run again, starts it no second time, and makes up once for what it missed', async () => {
    await patch({ cron: { slow: { schedule: '0 3 * * *', command: 'node slow.mjs', timeLimit: '1h' } } })
    const begun = await service.client.call('runCronJob', { params: { id, name: 'slow' } })
    await until(async () => (await counted('slow.txt')) === 1, 'the slow job')
    const before = await counted('ran.txt')
    const worker = (await workloads())['queue-1']!.pid!
    await service.kill()
    // What the clock does to whoever is away for three days.
    const store = new DatabaseSync(join(service.home, 'stackquay.db'))
    store.prepare('update cron_jobs set counts_from = ?').run(new Date(Date.now() - 3 * 86_400_000).toISOString())
    store.close()
    await service.start()
    await until(async () => (await counted('ran.txt')) > before, 'what was missed')
    await until(async () => (await project()).cron?.clean?.lastRun?.state === 'succeeded', 'its end')
    const [made, ...others] = await runsOf('clean')
    assert.equal(others.length, 1, 'the one by hand')
    assert.ok(made!.dueAt !== null && made!.actor === 'system')
    assert.equal(await counted('ran.txt'), before + 1)
    const slow = await runsOf('slow')
    assert.deepEqual([slow.map((run) => [run.id, run.state]), await counted('slow.txt')], [[[begun.id, 'running']], 1])
    assert.equal((await project()).cron?.slow?.lastSkip?.because, 'still_running')
    assert.equal((await workloads())['queue-1']!.pid, worker, 'workers outlive the service')
    await service.client.call('cancelRun', { params: { id, run: begun.id }, query: { wait: 30 } })
  })

  it('a stopped project stops its workers and skips its times; a copy starts with all of it off, and says so', async () => {
    await service.client.call('stopProject', { params: { id }, query: { wait: 60 } })
    const stopped = await project()
    assert.deepEqual([stopped.status.state, stopped.cron?.clean?.nextAt], ['stopped', null])
    await service.client.call('startProject', { params: { id }, query: { wait: 60 } })
    const client = createClient({ baseUrl: service.url, token: service.token })
    await client.call('duplicateProject', {
      params: { id },
      body: { name: 'Copy', slug: 'copy' },
      query: { wait: 120 },
    })
    const copy = await project('copy')
    assert.deepEqual(
      [copy.workers?.queue?.enabled, copy.workers?.queue?.copied, copy.cron?.clean?.copied],
      [false, true, true],
    )
    assert.deepEqual(copy.status.workloads, [])
    assert.ok(copy.status.warnings.some(({ code }) => code === 'work_off'))
    const on = await patch({ workers: { queue: { enabled: true } }, cron: null }, 'copy')
    assert.deepEqual([on.workers?.queue?.copied, on.status.warnings], [false, []])
  })
})
