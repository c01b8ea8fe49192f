import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { WorkloadStatus } from '@stackquay/contract'
import { refusal } from '../support/refusal.ts'
import { type Service, type ServiceOptions, until } from '../support/service.ts'
import { giveToProjects, makeSourceRoot, type SourceRoot } from '../support/source-root.ts'

const example = fileURLToPath(new URL('../../examples/guestbook', import.meta.url))

/** What differs between engines in a journey that is the same on all of them. */
export interface Where<S extends Service> {
  readonly title: string
  open(options: ServiceOptions): Promise<S>
  /** What a new project says besides its source: versions that this engine has here. */
  readonly settings: object
  /** Of a database that is added later. */
  readonly version?: string
  /** Kills a workload with all its processes, and waits until they are gone. */
  crash(service: S, workload: WorkloadStatus, project: string): Promise<void>
}

export function guestbookJourney<S extends Service>({ title, open, settings, version, crash }: Where<S>): void {
  describe(title, () => {
    let service: S
    let root: SourceRoot
    before(async () => {
      root = await makeSourceRoot()
      service = await open({ roots: root.path })
      await cp(example, join(root.path, 'guestbook'), { recursive: true })
      await giveToProjects(join(root.path, 'guestbook'))
    })
    after(async () => {
      await service?.close()
      await root?.remove()
    })

    it('stores and reads rows through DATABASE_URL, in a virtual environment of its own', {
      timeout: 180_000,
    }, async () => {
      const project = await service.client.call('createProject', {
        body: { ...settings, name: 'Guestbook', path: join(root.path, 'guestbook') },
        query: { wait: 170 },
      })
      assert.equal(project.operation?.state, 'succeeded', JSON.stringify(project.operation?.error))
      assert.equal(project.status.state, 'running')
      await write('guestbook', 'the first row')
      assert.deepEqual(await rows('guestbook'), ['the first row'])
      assert.ok((await service.get('guestbook')).body.includes('the first row'))
    })

    it('keeps its rows through stop and start, and through a restart', { timeout: 60_000 }, async () => {
      const stopped = await service.client.call('stopProject', { params: { id: 'guestbook' }, query: { wait: 60 } })
      assert.equal(stopped.state, 'succeeded', JSON.stringify(stopped.error))
      assert.equal((await service.get('guestbook')).status, 503)
      const started = await service.client.call('startProject', { params: { id: 'guestbook' }, query: { wait: 60 } })
      assert.equal(started.state, 'succeeded', JSON.stringify(started.error))
      assert.deepEqual(await rows('guestbook'), ['the first row'])
      await write('guestbook', 'after stop and start')

      const before = await workloads('guestbook')
      const restarted = await service.client.call('restartProject', {
        params: { id: 'guestbook' },
        query: { wait: 60 },
      })
      assert.equal(restarted.state, 'succeeded', JSON.stringify(restarted.error))
      const now = await workloads('guestbook')
      for (const name of Object.keys(before)) assert.notEqual(now[name]?.pid, before[name]?.pid, `${name} restarted`)
      assert.deepEqual(await rows('guestbook'), ['the first row', 'after stop and start'])
    })

    it('answers and keeps its rows while the control plane is killed and started again', {
      timeout: 60_000,
    }, async () => {
      const before = await workloads('guestbook')
      await service.kill()
      await write('guestbook', 'without a control plane')
      assert.equal((await rows('guestbook')).length, 3)
      await service.start()
      await until(async () => (await state('guestbook')) === 'running', 'the project to be known as running')
      const now = await workloads('guestbook')
      assert.deepEqual(pidsOf(now), pidsOf(before))
      assert.deepEqual((await rows('guestbook')).at(-1), 'without a control plane')
    })

    it('gets its PostgreSQL back after that was killed with all its processes, and answers with every row', {
      timeout: 90_000,
    }, async () => {
      const { 'postgresql-main': database, python } = await workloads('guestbook')
      await crash(service, database!, await projectId('guestbook'))
      await until(async () => {
        const { 'postgresql-main': now } = await workloads('guestbook')
        return now?.state === 'running' && now.pid !== null && now.pid !== database!.pid
      }, 'PostgreSQL to run again')
      await until(
        async () => (await service.get('guestbook', '/entries.json')).status === 200,
        'the application to answer',
      )
      assert.equal((await rows('guestbook')).length, 3)
      await write('guestbook', 'after the crash of PostgreSQL')
      const now = await workloads('guestbook')
      assert.equal(now.python?.pid, python?.pid)
      assert.equal(now['postgresql-main']?.restarts, 1)
      assert.notEqual(now['postgresql-main']?.lastExit, null)
      assert.equal(await state('guestbook'), 'running')
    })

    it('gets its PostgreSQL back when that dies while the control plane is away', { timeout: 90_000 }, async () => {
      const { 'postgresql-main': database } = await workloads('guestbook')
      const id = await projectId('guestbook')
      await service.kill()
      await crash(service, database!, id)
      await service.start()
      await until(
        async () => (await service.get('guestbook', '/entries.json')).status === 200,
        'the application to answer',
      )
      assert.equal((await rows('guestbook')).length, 4)
      await until(async () => (await state('guestbook')) === 'running', 'the project to be known as running')
      // What brought it back may still be at its last step.
      await until(
        async () => (await service.client.call('getProject', { params: { id: 'guestbook' } })).operation === null,
        'nothing to be under way',
      )
    })

    it('is duplicated with its rows; then each goes its own way', { timeout: 120_000 }, async () => {
      const copy = await service.client.call('duplicateProject', {
        params: { id: 'guestbook' },
        body: { name: 'Guestbook two' },
        query: { wait: 110 },
      })
      assert.equal(copy.operation?.state, 'succeeded', JSON.stringify(copy.operation?.error))
      assert.equal(copy.status.state, 'running')
      const original = await rows('guestbook')
      assert.equal(original.length, 4)
      assert.deepEqual(await rows('guestbook-two'), original)
      assert.equal(await state('guestbook'), 'running')

      await write('guestbook-two', 'only in the copy')
      await write('guestbook', 'only in the original')
      assert.deepEqual(await rows('guestbook-two'), [...original, 'only in the copy'])
      assert.deepEqual(await rows('guestbook'), [...original, 'only in the original'])
    })

    it('loses a database only when its name is typed, and then that database alone', { timeout: 120_000 }, async () => {
      const { client } = service
      const params = { id: 'guestbook-two' }
      const added = await client.call('createDatabase', {
        params,
        body: { name: 'archive', type: 'postgres', ...(version === undefined ? {} : { version }) },
        query: { wait: 60 },
      })
      assert.equal(added.operation?.state, 'succeeded', JSON.stringify(added.operation?.error))
      assert.equal(added.databases.archive?.type, 'postgresql')
      const before = await workloads('guestbook-two')
      assert.equal(before['postgresql-archive']?.state, 'running')

      const dropped = { id: 'guestbook-two', db: 'archive' }
      for (const confirm of [undefined, 'main', 'guestbook-two']) {
        const refused = await refusal(
          client.call('deleteDatabase', { params: dropped, query: confirm === undefined ? {} : { confirm } }),
        )
        assert.equal(refused.code, 'validation_failed')
        assert.match(refused.detail, /\?confirm=archive/)
      }
      const { plan } = await client.plan('deleteDatabase', { params: dropped })
      assert.deepEqual(plan.deletesData, ['postgresql-archive'])
      assert.deepEqual(plan.stops, ['postgresql-archive'])
      assert.deepEqual(plan.keepsRunning, ['postgresql-main'])

      const after = await client.call('deleteDatabase', { params: dropped, query: { confirm: 'archive', wait: 60 } })
      assert.equal(after.operation?.state, 'succeeded', JSON.stringify(after.operation?.error))
      assert.deepEqual(Object.keys(after.databases), ['main'])
      const now = await workloads('guestbook-two')
      assert.deepEqual(Object.keys(now).sort(), ['postgresql-main', 'python'])
      assert.equal(now['postgresql-main']?.pid, before['postgresql-main']?.pid)
      assert.equal((await rows('guestbook-two')).length, 5)
      assert.equal((await rows('guestbook')).length, 5)

      await client.call('deleteDatabase', { params: { ...dropped, db: 'main' }, query: { confirm: 'main', wait: 60 } })
      assert.notEqual((await service.get('guestbook-two', '/entries.json')).status, 200)
      assert.equal((await rows('guestbook')).length, 5)
    })

    async function write(slug: string, message: string): Promise<void> {
      const body = new URLSearchParams({ name: 'Ada', message }).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const answer = await service.get(slug, '/', { method: 'POST', body, headers })
      assert.equal(answer.status, 303, answer.body)
    }

    async function rows(slug: string): Promise<readonly string[]> {
      const answer = await service.get(slug, '/entries.json')
      assert.equal(answer.status, 200, answer.body.slice(0, 500))
      return (JSON.parse(answer.body) as { message: string }[]).map(({ message }) => message)
    }

    async function workloads(slug: string): Promise<Readonly<Record<string, WorkloadStatus>>> {
      const { status } = await service.client.call('getProject', { params: { id: slug } })
      return Object.fromEntries(status.workloads.map((workload) => [workload.name, workload]))
    }

    async function projectId(slug: string): Promise<string> {
      return (await service.client.call('getProject', { params: { id: slug } })).id
    }

    async function state(slug: string): Promise<string> {
      return (await service.client.call('getProject', { params: { id: slug } })).status.state
    }
  })
}

function pidsOf(workloads: Readonly<Record<string, WorkloadStatus>>): Readonly<Record<string, number | null>> {
  return Object.fromEntries(Object.values(workloads).map(({ name, pid }) => [name, pid]))
}
