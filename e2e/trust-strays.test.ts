import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { groupsOf, processesInUnits, processesOf, usersOf } from '@stackquay/testkit'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import { type Service, startService, until } from './support/service.ts'
import { connect } from './support/socket-peer.ts'
import { nodeRuntime } from './support/trust-world.ts'

const support = new URL('./support/', import.meta.url).pathname
const PYTHON = '/usr/bin/python3'
const escaping = (label: string) => [PYTHON, 'escape.py', label] as const
/** Only root gives projects users of their own, by which nothing escapes. */
const levels = process.getuid?.() === 0 ? (['user', 'sandbox'] as const) : []

for (const level of levels) {
  describe(`programs that leave their session, their environment and their parent, on level ${level}`, () => {
    let service: Service
    before(async () => {
      service = await startService({ env: { STACKQUAY_ISOLATION: level } })
    })
    after(() => service?.close())

    it('are gone with the stop of their project, also when the control plane was killed meanwhile; an open terminal works on', {
      timeout: rounds(280_000, 3_600_000),
    }, async (t) => {
      for (let round = 0; round < rounds(1, 20); round += 1) {
        const slug = `escapes-${round}`
        const uid = await makeProject(service, slug)
        await escapeFromEverywhere(service, slug)
        const { id } = await service.client.call('createTerminal', { params: { id: slug }, body: {} })
        const terminal = await connect(service, `/projects/${slug}/terminals/${id}/ws`)
        terminal.type(`${escaping('terminal').join(' ')}\n`)
        await terminal.match(/escaped terminal/, 60_000)
        const escaped = programsOf(service, uid).length
        assert.ok(escaped >= 12, `only ${escaped} processes of uid ${uid}`)
        t.diagnostic(`round ${round}: ${escaped} processes before the stop`)

        await service.kill()
        await service.start()
        const stopped = await service.client.call('stopProject', { params: { id: slug }, query: { wait: 120 } })
        assert.equal(stopped.state, 'succeeded', JSON.stringify(stopped.error))
        assertOnlyCommands(service, uid)

        const again = await connect(service, `/projects/${slug}/terminals/${id}/ws`)
        again.type('echo "still "here\n')
        await again.match(/still here/)
        again.close()
        terminal.close()
        await assertDeleted(service, slug, uid)
      }
    })

    it('are gone whenever the control plane is killed while it stops them', {
      timeout: rounds(280_000, 3_600_000),
    }, async () => {
      const random = randomFrom(20_261_123)
      for (let round = 0; round < rounds(2, 30); round += 1) {
        const slug = `cut-${round}`
        const uid = await makeProject(service, slug)
        await service.client.call('startProject', { params: { id: slug }, query: { wait: 120 } })
        await until(async () => programsOf(service, uid).length >= 6, 'programs to escape', 60_000)
        const call = service.client
          .call('stopProject', { params: { id: slug }, query: { wait: 60 } })
          .catch(() => undefined)
        await delay(random() * 300)
        await service.kill()
        await call
        await service.start()
        await until(async () => (await stateOf(service, slug)).operation === null, 'the stop to be settled', 60_000)
        // One that was never accepted is asked for again, as a person would.
        await service.client.call('stopProject', { params: { id: slug }, query: { wait: 120 } })
        assert.deepEqual(programsOf(service, uid), [])
        await assertDeleted(service, slug, uid)
      }
    })

    it('are gone with their project, its user and its control groups when it is deleted as it runs', {
      timeout: rounds(280_000, 3_600_000),
    }, async () => {
      for (let round = 0; round < rounds(1, 20); round += 1) {
        const slug = `gone-${round}`
        const uid = await makeProject(service, slug)
        await escapeFromEverywhere(service, slug)
        await service.client.call('createTerminal', { params: { id: slug }, body: {} })
        // A sandbox has a namespace of its own for these, which ends with it.
        if (level === 'user') assert.ok(sharedMemoryOf(uid).length >= 4, String(sharedMemoryOf(uid)))
        await assertDeleted(service, slug, uid)
      }
    })
  })
}

/** Without what the service itself runs as that user, to read files with no more rights than it: children of the service. */
function programsOf(service: Service, uid: number) {
  return processesOf(uid).filter(({ parent }) => parent !== service.pid())
}

/** With its user, which its first program makes. */
async function makeProject(service: Service, slug: string): Promise<number> {
  const before = new Set((await usersOf(service.home)).map(({ uid }) => uid))
  const made = await service.client.call('createProject', {
    body: { name: slug, start: false, ...nodeRuntime },
    query: { wait: 60 },
  })
  const manifest = {
    name: slug,
    private: true,
    scripts: {
      start: 'node server.js',
      leave: escaping('action').join(' '),
      postinstall: escaping('job').join(' '),
      test: 'node --test',
    },
    dependencies: { part: 'file:./part' },
  }
  await mkdir(join(made.path, 'part'))
  const files = {
    'package.json': JSON.stringify(manifest),
    'part/package.json': JSON.stringify({ name: 'part', version: '1.0.0' }),
    'server.js': `require('child_process').spawn('${PYTHON}', ['escape.py', 'workload'], { stdio: 'inherit' })
require('http').createServer((q, a) => a.end('${slug}')).listen(process.env.PORT, '127.0.0.1')\n`,
    'leave.test.mjs': `import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
test('leaves programs', () => execFileSync('${PYTHON}', ['escape.py', 'test'], { stdio: 'ignore', timeout: 60_000 }))\n`,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(made.path, name), text)
  await cp(join(support, 'escape.py'), join(made.path, 'escape.py'))
  assert.match(await exec(service, slug, ['/bin/echo', 'here']), /here/)
  const user = (await usersOf(service.home)).find(({ uid }) => !before.has(uid))
  assert.ok(user !== undefined, 'the project has a user of its own')
  return user.uid
}

/** From a workload and its installation, a program, an action and a test run. */
async function escapeFromEverywhere(service: Service, slug: string): Promise<void> {
  const { client } = service
  const params = { id: slug }
  const started = await client.call('startProject', { params, query: { wait: 120 } })
  assert.equal(started.state, 'succeeded', JSON.stringify(started.error))
  assert.match(started.steps.map(({ title }) => title).join('\n'), /Install dependencies/)
  assert.match(await exec(service, slug, escaping('exec')), /escaped exec/)
  const action = await client.call('runAction', { params: { ...params, action: 'node.leave' }, query: { wait: 120 } })
  assert.equal(action.state, 'succeeded', JSON.stringify(action))
  const { suites } = await client.call('listTests', { params })
  const suite = suites.find(({ runner }) => runner === 'node-test')!
  const run = await client.call('runTests', { params: { ...params, suite: suite.id }, query: { wait: 120 } })
  assert.equal(run.state, 'succeeded', JSON.stringify(run))
}

/** What is left of a user lies in the control groups of what people have open. */
function assertOnlyCommands(service: Service, uid: number): void {
  const exempt = new Set(processesInUnits(service.home, /^[ch]-/).map(({ pid }) => pid))
  const left = programsOf(service, uid).filter(({ pid }) => !exempt.has(pid))
  // One that was born since the first look stands in the second.
  const now = new Set(processesInUnits(service.home, /^[ch]-/).map(({ pid }) => pid))
  assert.deepEqual(
    left.filter(({ pid }) => !now.has(pid) && programsOf(service, uid).some((entry) => entry.pid === pid)),
    [],
  )
}

async function assertDeleted(service: Service, slug: string, uid: number): Promise<void> {
  const removed = await service.client.call('deleteProject', {
    params: { id: slug },
    query: { confirm: slug, data: 'delete', purge: true, wait: 120 },
  })
  assert.equal(removed.state, 'succeeded', JSON.stringify(removed.error))
  assert.deepEqual(processesOf(uid), [])
  assert.deepEqual(sharedMemoryOf(uid), [])
  assert.deepEqual(
    (await usersOf(service.home)).filter((user) => user.uid === uid),
    [],
    service.output(),
  )
  // Of projects that are gone; the group of the instance may stay.
  const { items } = await service.client.call('listProjects', { query: { limit: 200 } })
  const known = items.map(({ id }) => id)
  const groups = groupsOf(service.home).filter((path) => /stackquay-[0-9a-f]{12}\//.test(path))
  assert.deepEqual(
    groups.filter((path) => !known.some((id) => path.includes(id))),
    [],
  )
}

/** System V shared memory of a user in this namespace, as the kernel lists it. */
function sharedMemoryOf(uid: number): readonly string[] {
  const [, ...lines] = readFileSync('/proc/sysvipc/shm', 'utf8').split('\n')
  return lines.filter((line) => line.trim().split(/\s+/)[7] === String(uid))
}

async function stateOf(service: Service, slug: string) {
  return service.client.call('getProject', { params: { id: slug } })
}

async function exec(service: Service, slug: string, argv: readonly string[]): Promise<string> {
  const answer = await fetch(`${service.url}/api/v1/projects/${slug}/exec`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ argv }),
  })
  return answer.text()
}
