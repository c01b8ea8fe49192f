import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createClient } from '@stackquay/client'
import type { EventRecord, LogLine, ProjectCreate, WorkloadStatus } from '@stackquay/contract'
import { isAlive } from '@stackquay/testkit'
import { refusal } from './support/refusal.ts'
import { type Service, startService, until } from './support/service.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'
import { allEvents, eventStream } from './support/traces.ts'

const execute = promisify(execFile)
const scripts = JSON.stringify({ scripts: { start: 'node server.js' } })
const listen = "listen(process.env.PORT, '127.0.0.1')"
const server = `require('http').createServer((q, a) => a.end(process.env.GREETING ?? 'ok')).${listen}\n`
const application = { 'package.json': scripts, 'server.js': server }

describe('the life of a project', () => {
  let service: Service
  let root: SourceRoot
  before(async () => {
    root = await makeSourceRoot()
    service = await startService({ roots: root.path })
    await create({
      name: 'Main',
      path: await root.folder('main', application),
      databases: { main: { type: 'postgresql' } },
    })
  })
  after(async () => {
    await service?.close()
    await root?.remove()
  })

  it('shows with dryRun exactly the steps that then run, for every kind of change, and writes nothing', {
    timeout: 90_000,
  }, async () => {
    const { client } = service
    const params = { id: 'main' }
    const body = { env: { GREETING: 'hello' } }
    const acts: [string, () => Promise<unknown>, () => Promise<unknown>][] = [
      [
        'stop',
        () => client.plan('stopProject', { params }),
        () => client.call('stopProject', { params, query: { wait: 60 } }),
      ],
      [
        'start',
        () => client.plan('startProject', { params }),
        () => client.call('startProject', { params, query: { wait: 60 } }),
      ],
      [
        'restart',
        () => client.plan('restartProject', { params }),
        () => client.call('restartProject', { params, query: { wait: 60 } }),
      ],
      [
        'update',
        () => client.plan('updateProject', { params, body }),
        () => client.call('updateProject', { params, body, query: { wait: 60 } }),
      ],
    ]
    for (const [what, plan, run] of acts) {
      const before = await snapshot()
      const { plan: planned } = (await plan()) as { plan: { steps: { title: string }[] } }
      assert.deepEqual(await snapshot(), before, `a dry run of ${what} wrote something`)
      await run()
      const { items } = await client.call('listOperations', { query: { project: 'main', limit: 1 } })
      assert.equal(items[0]?.kind, what)
      assert.equal(items[0]?.state, 'succeeded', JSON.stringify(items[0]?.error))
      assert.ok(planned.steps.length > 0, what)
      assert.deepEqual(
        items[0]?.steps.map((step) => step.title),
        planned.steps.map((step) => step.title),
        what,
      )
    }
    const created = { name: 'Planned', template: 'static' }
    const before = await snapshot()
    const { plan } = await client.plan('createProject', { body: created })
    assert.deepEqual(await snapshot(), before)
    assert.deepEqual(plan.starts, ['static'])
    const project = await client.call('createProject', { body: created, query: { wait: 60 } })
    const titles = project.operation!.steps.map((step) => step.title)
    assert.deepEqual(
      plan.steps.map((step) => step.title),
      titles.filter((title) => title !== 'Look at the source'),
    )
    const { plan: removal } = await client.plan('deleteProject', {
      params: { id: 'planned' },
      query: { data: 'delete' },
    })
    const removed = await client.call('deleteProject', {
      params: { id: 'planned' },
      query: { confirm: 'planned', data: 'delete', wait: 60 },
    })
    assert.deepEqual(
      removed.steps.map((step) => step.title),
      removal.steps.map((step) => step.title),
    )
  })

  it('takes an unchanged GET answer as a PATCH that changes nothing: no restart, no generation, no audit entry, no event', async () => {
    const record = await read('main')
    const before = await snapshot()
    const pids = await pidsOf('main')
    const answer = await service.client.callFull('updateProject', { params: { id: 'main' }, body: record as object })
    assert.equal(answer.data.operation, null)
    assert.equal(answer.data.generation, record.generation)
    assert.deepEqual(await snapshot(), before)
    assert.deepEqual(await pidsOf('main'), pids)
  })

  it('restarts runtimes and not the database when one variable changes', async () => {
    const before = await pidsOf('main')
    const body = { env: { GREETING: 'good evening' } }
    const { plan } = await service.client.plan('updateProject', { params: { id: 'main' }, body })
    assert.deepEqual([plan.restarts, plan.keepsRunning], [['node'], ['postgresql-main']])
    const changed = await service.client.call('updateProject', { params: { id: 'main' }, body, query: { wait: 60 } })
    assert.equal(changed.operation?.state, 'succeeded', JSON.stringify(changed.operation?.error))
    const now = await pidsOf('main')
    assert.equal(now['postgresql-main'], before['postgresql-main'])
    assert.notEqual(now.node, before.node)
    assert.equal((await service.get('main')).body, 'good evening')
  })

  it('honours If-Match: the ETag that was read holds once', async () => {
    const { etag, data } = await service.client.callFull('getProject', { params: { id: 'main' } })
    assert.ok(etag?.includes(String(data.generation)))
    const patch = (name: string, ifMatch: string) =>
      service.client.callFull('updateProject', { params: { id: 'main' }, body: { name } }, { ifMatch })
    const first = await patch('Main one', etag!)
    assert.notEqual(first.etag, etag)
    const refused = await refusal(patch('Main two', etag!))
    assert.deepEqual([refused.status, refused.code], [412, 'precondition_failed'])
    assert.equal((await read('main')).name, 'Main one')
    assert.equal((await patch('Main', first.etag!)).data.name, 'Main')
  })

  it('does a POST once for one idempotency key, and says when its answer is a repetition', async () => {
    const key = 'create-once-1'
    const post = (body: object, idempotencyKey = key) =>
      service.client.callFull('createProject', { body: body as ProjectCreate, query: { wait: 30 } }, { idempotencyKey })
    const body = { name: 'Once', template: 'static' }
    const first = await post(body)
    const second = await post(body)
    assert.equal(first.headers.get('idempotency-replayed'), null)
    assert.equal(second.headers.get('idempotency-replayed'), 'true')
    assert.deepEqual([second.status, second.data.id], [201, first.data.id])
    const other = await refusal(post({ ...body, name: 'Twice' }))
    assert.deepEqual([other.status, other.code], [422, 'idempotency_mismatch'])
    await service.kill()
    await service.start()
    assert.equal((await post(body)).headers.get('idempotency-replayed'), 'true')
    const { items } = await service.client.call('listProjects', { query: { q: 'once' } })
    assert.equal(items.length, 1)
    await remove('once')
  })

  it('answers an operation at once, waits for it when asked, and lets another one wait meanwhile', {
    timeout: 60_000,
  }, async () => {
    const { client } = service
    const path = await root.folder('slow', {
      'package.json': scripts,
      'server.js': `setTimeout(() => require('http').createServer((q, a) => a.end('ok')).${listen}, 4000)\n`,
    })
    await create({ name: 'Slow', path, start: false })
    const began = performance.now()
    const started = await client.callFull('startProject', { params: { id: 'slow' } })
    assert.equal(started.status, 202)
    assert.ok(performance.now() - began < 2_000)
    assert.match(started.data.state, /queued|running/)
    // Until it has begun, requests are merged into it.
    await until(
      async () => (await client.call('getOperation', { params: { op: started.data.id } })).state === 'running',
      'the start to begin',
    )
    const waiting = await client.call('restartProject', { params: { id: 'slow' } })
    const changed = await client.call('updateProject', { params: { id: 'slow' }, body: { env: { A: 'b' } } })
    assert.deepEqual([waiting.state, changed.operation?.id, changed.env.A?.value], ['queued', waiting.id, 'b'])
    assert.equal((await client.call('cancelOperation', { params: { op: waiting.id } })).state, 'cancelled')
    const early = await client.call('getOperation', { params: { op: started.data.id }, query: { wait: 1 } })
    assert.equal(early.state, 'running')
    assert.equal((await read('slow')).status.state, 'starting')
    assert.equal((await service.get('slow')).status, 503)

    const cancelled = await client.call('cancelOperation', { params: { op: started.data.id }, query: { wait: 20 } })
    assert.equal(cancelled.state, 'cancelled')
    const after = await read('slow')
    assert.deepEqual([after.status.state, after.status.desired, after.operation], ['stopped', 'stopped', null])
    const again = await client.callFull('startProject', { params: { id: 'slow' }, query: { wait: 20 } })
    assert.deepEqual([again.status, again.data.state], [200, 'succeeded'])
    assert.equal((await service.get('slow')).status, 200)
    await remove('slow')
  })

  it('waits for readiness again after a kill of the control plane in the middle of a start', {
    timeout: 60_000,
  }, async () => {
    const path = await root.folder('patient', {
      'package.json': scripts,
      'server.js': `setTimeout(() => require('http').createServer((q, a) => a.end('ok')).${listen}, 4000)\n`,
    })
    await create({ name: 'Patient', path, start: false })
    const { id: op } = await service.client.call('startProject', { params: { id: 'patient' } })
    await until(async () => (await pidsOf('patient')).node != null, 'the process')
    const before = await pidsOf('patient')
    await service.kill()
    await service.start()
    const operation = await service.client.call('getOperation', { params: { op }, query: { wait: 30 } })
    assert.equal(operation.state, 'succeeded', JSON.stringify(operation.error))
    assert.equal((await service.get('patient')).status, 200)
    assert.deepEqual(await pidsOf('patient'), before)
    await remove('patient')
  })

  it('ends an installation with all its processes when its operation is cancelled, and installs at the next start', {
    timeout: 60_000,
  }, async () => {
    const path = await root.folder('installed', {
      ...application,
      'package.json': JSON.stringify({
        scripts: { start: 'node server.js', postinstall: 'node slow.js' },
        dependencies: { local: 'file:./local' },
      }),
      'local/package.json': JSON.stringify({ name: 'local', version: '1.0.0' }),
      'slow.js': `const { existsSync, writeFileSync } = require('fs')
if (!existsSync('pid')) { writeFileSync('pid', String(process.pid)); setInterval(() => {}, 1000) }\n`,
    })
    const created = await service.client.call('createProject', { body: { name: 'Installed', path } })
    await until(async () => (await readFile(join(path, 'pid'), 'utf8').catch(() => '')) !== '', 'the installation')
    const installer = Number(await readFile(join(path, 'pid'), 'utf8'))
    const cancelled = await service.client.call('cancelOperation', {
      params: { op: created.operation!.id },
      query: { wait: 20 },
    })
    assert.equal(cancelled.state, 'cancelled')
    assert.equal(cancelled.steps.find((step) => /Install/.test(step.title))?.state, 'cancelled')
    assert.ok(!(await isAlive(installer)))
    assert.deepEqual((await read('installed')).status.state, 'stopped')
    const started = await service.client.call('startProject', { params: { id: 'installed' }, query: { wait: 40 } })
    assert.equal(started.state, 'succeeded', JSON.stringify(started.error))
    assert.equal((await service.get('installed')).body, 'ok')
    await remove('installed')
  })

  it('keeps the source, and the data unless told, when it is deleted', { timeout: 60_000 }, async () => {
    const { client } = service
    const path = await root.folder('kept', application)
    const project = await create({ name: 'Kept', path, databases: { main: { type: 'postgresql' } } })
    const refused = await refusal(client.call('deleteProject', { params: { id: 'kept' }, query: { confirm: 'kep' } }))
    assert.match(refused.detail, /\?confirm=kept/)
    const processes = Object.values(await pidsOf('kept'))
    await remove('kept', 'keep')
    assert.ok((await Promise.all(processes.map((pid) => isAlive(pid!)))).every((lives) => !lives))
    assert.equal(await readFile(join(path, 'server.js'), 'utf8'), server)
    const data = join(service.home, 'data', project.id)
    assert.ok((await readdir(data)).length > 0)
    assert.equal((await service.get('kept')).status, 404)

    const made = await create({ name: 'Made', template: 'static', databases: { main: { type: 'postgresql' } } })
    await remove('made', 'delete')
    assert.ok((await readdir(made.path)).length > 0)
    const left = await readdir(join(service.home, 'data', made.id))
    assert.ok(left.length === 1 && left[0]?.startsWith('postgresql-main@trs_'), 'it lies in the trash')
    await rm(made.path, { recursive: true })
  })

  it('lists in pages that hold every item once, in a stable order', { timeout: 60_000 }, async () => {
    const { client } = service
    const names = Array.from({ length: 7 }, (_, index) => `page-${index}`)
    for (const name of names) await client.call('createProject', { body: { name }, query: { wait: 30 } })
    const whole = (await client.call('listProjects', { query: { limit: 200 } })).items.map((item) => item.slug)
    const paged: string[] = []
    let cursor: string | null | undefined
    do {
      const page = await client.call('listProjects', { query: { limit: 3, ...(cursor == null ? {} : { cursor }) } })
      assert.ok(page.items.length <= 3)
      paged.push(...page.items.map((item) => item.slug))
      cursor = page.nextCursor
    } while (cursor !== null)
    assert.deepEqual(paged, whole)
    assert.ok(names.every((name) => whole.includes(name)))
    for (const id of ['listOperations', 'listAudit'] as const) {
      const all = (await client.call(id, { query: { limit: 200 } })).items.map((item) => item.id)
      const first = await client.call(id, { query: { limit: 5 } })
      const second = await client.call(id, { query: { limit: 5, cursor: first.nextCursor! } })
      assert.deepEqual(
        [...first.items, ...second.items].map((item) => item.id),
        all.slice(0, 10),
        id,
      )
    }
    const refused = await refusal(client.call('listProjects', { query: { limit: 'many' as unknown as number } }))
    assert.equal(refused.status, 400)
    for (const name of names) await remove(name)
  })

  it('waits for a file that is missing, says which, and starts by itself when it appears', async () => {
    const path = await root.folder('early', { 'readme.txt': 'nothing yet\n' })
    const project = await create({ name: 'Early', path, node: { enabled: true } } as ProjectCreate)
    assert.equal(project.operation?.state, 'succeeded', JSON.stringify(project.operation?.error))
    assert.equal(project.status.workloads[0]?.state, 'waiting')
    assert.match(project.status.warnings[0]?.detail ?? '', /package\.json/)
    assert.equal((await service.get('early')).status, 503)
    await writeFile(join(path, 'server.js'), server)
    await writeFile(join(path, 'package.json'), scripts)
    await until(async () => (await service.get('early')).status === 200, 'it to start by itself')
    await until(async () => (await read('early')).status.state === 'running', 'it to be known as running')
    await remove('early')
  })

  it('ends a program that ignores SIGTERM within its deadline and a second, with all its children', {
    timeout: 60_000,
  }, async () => {
    const path = await root.folder('stubborn', {
      'package.json': scripts,
      'server.js': `process.on('SIGTERM', () => console.log('no'))
require('child_process').spawn(process.execPath, ['-e', "process.on('SIGTERM', () => {}); console.log('child', process.pid); setInterval(() => {}, 1000)"], { stdio: 'inherit', detached: true })
${server}`,
    })
    await create({ name: 'Stubborn', path })
    await until(async () => /child \d+/.test(await logOf('stubborn')), 'the child to run')
    const child = Number(/child (\d+)/.exec(await logOf('stubborn'))![1])
    const [pid] = Object.values(await pidsOf('stubborn'))
    assert.ok((await isAlive(pid!)) && (await isAlive(child)))
    const stopped = await service.client.call('stopProject', { params: { id: 'stubborn' }, query: { wait: 60 } })
    const took = Date.parse(stopped.finishedAt!) - Date.parse(stopped.startedAt!)
    assert.equal(stopped.state, 'succeeded', JSON.stringify(stopped.error))
    assert.ok(took >= 9_000 && took <= 11_000, `it took ${took} ms`)
    assert.ok(!(await isAlive(pid!)) && !(await isAlive(child)))
    const { status } = await read('stubborn')
    assert.deepEqual([status.state, status.workloads[0]?.lastExit?.signal], ['stopped', 'SIGKILL'])
    assert.match(await logOf('stubborn'), /^no$/m)
    await remove('stubborn')
  })

  it('tells CPU, memory and disk of each running workload', async () => {
    await until(async () => {
      const { items, disk } = await service.client.call('getProjectStats', { params: { id: 'main' } })
      const names = items.map((item) => item.workload).sort()
      const isPlausible = items.every(
        (item) => item.memoryBytes > 1_000_000 && item.processes >= 1 && item.cpu !== null,
      )
      return names.join() === 'node,postgresql-main' && isPlausible && disk !== null && disk.dataBytes > 1_000_000
    }, 'statistics of both workloads')
  })

  it('never runs a workload, or anything that it starts, as root', async () => {
    const pids = Object.values(await pidsOf('main'))
    const { stdout } = await execute('ps', ['-e', '-o', 'pid=,sid=,uid=,args='])
    const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/))
    const family = rows.filter(([pid, sid]) => pids.includes(Number(pid)) || pids.includes(Number(sid)))
    assert.ok(family.length > pids.length, stdout)
    for (const [pid, , uid, ...words] of family) assert.notEqual(uid, '0', `${pid} ${words.join(' ')} runs as root`)
  })

  it('streams events and log lines that resume without loss or repetition across a kill of the control plane', {
    timeout: 60_000,
  }, async () => {
    const path = await root.folder('chatty', {
      'package.json': scripts,
      'server.js': `let count = 0\nsetInterval(() => console.log('line', count++), 20)\n${server}`,
    })
    await create({ name: 'Chatty', path })
    const lines: LogLine[] = []
    const events: EventRecord[] = []
    const stopping = new AbortController()
    const { signal } = stopping
    const following = Promise.all([
      service.client.followLogs('chatty', { tail: 1 }, { signal, onLines: (items) => void lines.push(...items) }),
      service.client.followEvents({ after: 0 }, { signal, onEvent: (event) => void events.push(event) }),
    ])
    await until(async () => lines.length > 20, 'lines')
    await service.kill()
    await delay(300)
    await service.start()
    const seen = lines.length
    await until(async () => lines.length > seen + 40, 'further lines')
    await service.client.call('updateProject', { params: { id: 'chatty' }, body: { name: 'Chatty two' } })
    const present = (await allEvents(service)).at(-1)!.seq
    await until(async () => (events.at(-1)?.seq ?? 0) >= present, 'the last event')
    stopping.abort()
    await following

    const numbers = lines.map((line) => Number(/^line (\d+)$/.exec(line.text)?.[1]))
    const first = numbers[0]!
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => first + index),
    )

    const all = await allEvents(service)
    const followed = new Set(events.map((event) => event.seq))
    assert.equal(followed.size, events.length, 'an event came twice')
    assert.deepEqual(
      all.filter((event) => event.seq <= present && !followed.has(event.seq)),
      [],
    )
    const middle = all[Math.floor(all.length / 2)]!
    const resumed: number[] = []
    for await (const { event, data } of eventStream(service, undefined, String(middle.seq))) {
      if (event === 'start') continue
      resumed.push((JSON.parse(data) as EventRecord).seq)
      if (resumed.at(-1)! >= present) break
    }
    const expected = all.map((event) => event.seq).filter((seq) => seq > middle.seq && seq <= present)
    assert.deepEqual(
      resumed.filter((seq) => seq <= present),
      expected,
    )
    await remove('chatty')
  })

  it('shows a token that is restricted to projects those alone, and does not tell whether others exist', async () => {
    const token = await service.newToken('read', [(await read('main')).id])
    const restricted = createClient({ baseUrl: service.url, token })
    assert.deepEqual(
      (await restricted.call('listProjects')).items.map((item) => item.slug),
      ['main'],
    )
    const refused = await refusal(restricted.call('getProject', { params: { id: 'nobody-knows' } }))
    assert.deepEqual([refused.status, refused.code], [403, 'project_forbidden'])
    const audit = await refusal(restricted.call('listAudit'))
    assert.equal(audit.status, 403)
  })

  async function create(body: ProjectCreate) {
    const project = await service.client.call('createProject', { body, query: { wait: 60 } })
    assert.equal(project.operation?.state, 'succeeded', JSON.stringify(project.operation?.error))
    return project
  }

  async function read(slug: string) {
    return service.client.call('getProject', { params: { id: slug } })
  }

  async function remove(slug: string, data: 'keep' | 'delete' = 'delete') {
    const operation = await service.client.call('deleteProject', {
      params: { id: slug },
      query: { confirm: slug, data, wait: 60 },
    })
    assert.equal(operation.state, 'succeeded', JSON.stringify(operation.error))
  }

  async function pidsOf(slug: string): Promise<Readonly<Record<string, number | null>>> {
    const { status } = await read(slug)
    return Object.fromEntries(status.workloads.map((workload: WorkloadStatus) => [workload.name, workload.pid]))
  }

  async function logOf(slug: string): Promise<string> {
    const { items } = await service.client.call('getProjectLogs', { params: { id: slug } })
    return items.map((line) => line.text).join('\n')
  }

  /** Everything that a request which writes nothing must leave as it is. */
  async function snapshot() {
    const { client } = service
    const [projects, operations, audit, events] = await Promise.all([
      client.call('listProjects', { query: { limit: 200 } }),
      client.call('listOperations', { query: { limit: 200 } }),
      client.call('listAudit', { query: { limit: 200 } }),
      allEvents(service),
    ])
    return {
      projects: projects.items.map(({ id, generation, status }) => [id, generation, status.state]),
      operations: operations.items.map(({ id }) => id),
      audit: audit.items.map(({ id }) => id),
      events: events.filter((event) => event.type !== 'project.status').map(({ seq }) => seq),
      folders: (await readdir(join(service.home, 'projects'))).sort(),
    }
  }
})
