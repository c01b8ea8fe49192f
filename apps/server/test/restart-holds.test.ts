import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Change, Observed, Workload } from '@stackquay/engine-api'
import { createRestartHolds } from '../src/projects/restart-holds.ts'

const project = 'prj_1'

function workload(name: string, dependsOn: readonly string[] = []): Workload {
  return { ref: { project, workload: name }, title: name, dependsOn } as unknown as Workload
}

function observed(name: string, state: Observed['state'] = 'running'): Observed {
  const ports = [{ name: 'http', port: 3000, hostPort: 3000 }]
  return { ref: { project, workload: name }, state, ports } as unknown as Observed
}

const replace = (one: Workload): Change => ({ type: 'replace', workload: one, because: [] })

/** Holds over a proxy that answers `flights` one after the other, the last one for good. */
function holdsOver(flights: readonly ({ readonly requests: number } | undefined)[], now = () => new Date(1000)) {
  const told: string[] = []
  const left = [...flights]
  const holds = createRestartHolds({
    routes: {
      hold: (_project, name, until) => {
        told.push(`hold ${name} for ${until - 1000} ms`)
        return { let: () => void told.push(`let ${name}`) }
      },
    },
    engine: { address: async () => ({ host: '127.0.0.1', port: 3000 }) },
    published: async () => void told.push('published'),
    flights: async () => {
      const now = left.length > 1 ? left.shift() : left[0]
      told.push(`flights ${now?.requests}`)
      return now
    },
    look: async () => void told.push('looked'),
    now,
  })
  const stepsOf = (change: Change) =>
    ['stop', 'start', 'ready'].map((what) => {
      const name = change.type === 'replace' ? change.workload.ref.workload : change.type
      return { id: `${what}:${name}`, title: what, run: async () => void told.push(`${what} ${name}`) }
    })
  return { holds, told, stepsOf }
}

async function run(steps: readonly { run(context: never): Promise<void> }[]) {
  const context = { signal: new AbortController().signal, output: () => undefined }
  for (const step of steps) await step.run(context as never)
}

test('before a workload is stopped to be started again its requests wait and those under way are answered; then they go on', async () => {
  const web = workload('web')
  const seen = [observed('web')]
  const { holds, told, stepsOf } = holdsOver([{ requests: 2 }, { requests: 1 }, { requests: 0 }])
  await run(holds.around({ project, changes: [replace(web)], wanted: [web], observed: seen }, stepsOf))
  assert.deepEqual(told, [
    'hold web for 30000 ms',
    'published',
    'flights 2',
    'flights 1',
    'flights 0',
    'stop web',
    'start web',
    'ready web',
    'looked',
    'let web',
    'published',
  ])
})

test('what uses a workload that is started again is held with it, and let go when the last it uses is ready', async () => {
  const [db, cache, web, other] = [
    workload('db'),
    workload('cache'),
    workload('web', ['db', 'cache']),
    workload('other'),
  ]
  const wanted = [db, cache, web, other]
  const seen = wanted.map(({ ref }) => observed(ref.workload))
  const { holds, told, stepsOf } = holdsOver([{ requests: 0 }])
  await run(holds.around({ project, changes: [replace(db), replace(cache)], wanted, observed: seen }, stepsOf))
  const course = told.filter((line) => !line.startsWith('flights') && line !== 'published' && line !== 'looked')
  assert.deepEqual(course, [
    'hold db for 30000 ms',
    'hold cache for 30000 ms',
    'hold web for 30000 ms',
    'stop db',
    'start db',
    'ready db',
    'let db',
    'stop cache',
    'start cache',
    'ready cache',
    'let cache',
    'let web',
  ])
})

test('a stop without a start and a start of what was down hold nothing', async () => {
  const web = workload('web')
  const seen = [observed('web', 'stopped')]
  const { holds, told, stepsOf } = holdsOver([{ requests: 0 }])
  const changes: readonly Change[] = [
    { type: 'stop', ref: web.ref, title: 'web', stop: { signal: 'SIGTERM', deadlineSeconds: 1 } },
    { type: 'start', workload: web },
  ]
  await run(holds.around({ project, changes, wanted: [web], observed: seen }, stepsOf))
  await holds.release(project)
  assert.deepEqual(told, ['stop stop', 'start stop', 'ready stop', 'stop start', 'start start', 'ready start'])
})

test('an operation that ended in between lets go of all that it held, once', async () => {
  const web = workload('web')
  const seen = [observed('web')]
  const { holds, told, stepsOf } = holdsOver([{ requests: 0 }])
  const steps = holds.around({ project, changes: [replace(web)], wanted: [web], observed: seen }, stepsOf)
  await run(steps.slice(0, 2))
  assert.ok(!told.includes('let web'))
  await holds.release(project)
  await holds.release(project)
  assert.deepEqual(told.slice(-3), ['looked', 'let web', 'published'])
  assert.equal(told.filter((line) => line === 'let web').length, 1)
})

test('a proxy that does not say what it has under way is given a moment, and no more', async () => {
  const { holds, told } = holdsOver([undefined])
  await holds.hold([{ project, workload: 'web' }], [observed('web')], new AbortController().signal)
  assert.deepEqual(told, ['hold web for 30000 ms', 'published', 'flights undefined'])
})

test('a cancelled operation does not go on waiting for answers that never come', async () => {
  const { holds, told } = holdsOver([{ requests: 1 }])
  const cancel = new AbortController()
  const holding = holds.hold([{ project, workload: 'web' }], [observed('web')], cancel.signal)
  await sleep(50)
  cancel.abort(new Error('cancelled'))
  await assert.rejects(holding)
  await holds.release(project)
  assert.ok(told.includes('let web'))
})

test('what lasts is held on and on, also after it is ready, until it is let go, and at most four minutes', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1000 })
  const web = workload('web')
  const seen = [observed('web')]
  const { holds, told, stepsOf } = holdsOver([{ requests: 0 }], () => new Date())
  holds.last(project)
  holds.last(project)
  await run(holds.around({ project, changes: [replace(web)], wanted: [web], observed: seen }, stepsOf))
  assert.equal(told.at(-1), 'ready web')
  t.mock.timers.tick(10_000)
  assert.ok(told.includes('hold web for 40000 ms'), told.join())
  t.mock.timers.tick(220_000)
  assert.equal(
    told.findLast((line) => line.startsWith('hold')),
    'hold web for 240000 ms',
  )
  await holds.release(project)
  assert.deepEqual(told.slice(-3), ['looked', 'let web', 'published'])
  const count = told.length
  t.mock.timers.tick(60_000)
  assert.equal(told.length, count)
  // The next operation waits no longer than any other.
  await run(holds.around({ project, changes: [replace(web)], wanted: [web], observed: seen }, stepsOf))
  assert.equal(told.at(-2), 'let web')
})
