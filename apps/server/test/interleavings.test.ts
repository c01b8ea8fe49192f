import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProjectView } from '@stackquay/contract'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import { waitFor } from '@stackquay/testkit/wait-for'
import { type OperationAnswer, openTestApp, type TestApp } from './projects-support.ts'

// Changes, starts, stops, restarts, cancellations and ends of the service in any order, none waited for. Whatever the order: the
// settings are those of all changes together, at most one operation waits, all of them end, and what runs is what is wanted.

const envOf = ({ env }: ProjectView) =>
  Object.fromEntries(Object.entries(env).map(([name, variable]) => [name, variable.value]))

const runningEnv = ({ engine }: TestApp, id: string) => {
  const found = engine.machine.workloads.get(`${id}/static`)
  return found?.state === 'running' ? found.workload.env : null
}

async function quiet(app: TestApp, id: string): Promise<void> {
  await waitFor('all operations to end', async () => {
    const left = await app.store.operations.unfinishedOf(id)
    if (left.length > 0) throw new Error(JSON.stringify(left))
    return true
  })
}

test('in any order of requests, cancellations and ends of the service everything ends as it is wanted', async (t) => {
  let app = await openTestApp(t)
  app.engine.machine.files.has = () => true
  for (let round = 0; round < rounds(12, 200); round += 1) {
    const random = randomFrom(round + Number(process.env.FROM ?? 0))
    const below = (count: number) => Math.floor(random() * count)
    const slug = `shop${round}`
    const made = await app.ask('POST', '/projects?wait=30', { name: slug, static: {}, start: false })
    const { id } = made.body
    const wanted: Record<string, string> = {}
    const answered = new Set<string>()
    let desired = 'stopped'
    let isCancelled = false

    const acts = {
      change: async () => {
        const [name, value] = ['ABCD'[below(4)]!, String(below(5))]
        wanted[name] = value
        const { status, body } = await app.ask('PATCH', `/projects/${slug}`, { env: { [name]: value } })
        assert.equal(status, 200, JSON.stringify(body))
        assert.deepEqual(envOf(body), wanted)
        if (body.operation !== null) answered.add(body.operation.id)
      },
      lifecycle: async () => {
        const kind = (['start', 'stop', 'restart'] as const)[below(3)]!
        const { status, body } = await app.ask<OperationAnswer>('POST', `/projects/${slug}/${kind}`)
        assert.ok(status === 200 || status === 202, JSON.stringify(body))
        answered.add(body.id)
        desired = kind === 'stop' ? 'stopped' : 'running'
        isCancelled = false
      },
      slow: async () => {
        const hang = app.engine.hangNext((['start', 'stop'] as const)[below(2)]!)
        setTimeout(() => hang.release(), below(40))
      },
      cancel: async () => {
        const one = (await app.store.operations.unfinishedOf(id)).at(-below(2) - 1)
        if (one === undefined) return
        await app.ask('POST', `/operations/${one.id}/cancel`)
        isCancelled = true
      },
      end: async () => {
        app = await app.reopen()
      },
      rest: () => sleep(below(30)),
    }
    const names = ['change', 'change', 'change', 'lifecycle', 'lifecycle', 'slow', 'cancel', 'rest'] as const
    for (let step = 0; step < 14; step += 1) {
      await acts[names[below(names.length)]!]()
      if (random() < 0.03) await acts.end()
      const unfinished = await app.store.operations.unfinishedOf(id)
      assert.ok(unfinished.filter(({ state }) => state === 'queued').length <= 1, 'at most one waits')
    }
    await quiet(app, id)
    for (const operation of answered)
      assert.match((await app.store.operations.find(operation))!.state, /^(succeeded|cancelled)$/, `round ${round}`)
    const left = (await app.ask('GET', `/projects/${slug}`)).body
    assert.deepEqual(envOf(left), wanted)
    if (!isCancelled) assert.equal(left.status.desired, desired, `round ${round}`)
    assert.equal(runningEnv(app, id) !== null, left.status.desired === 'running', `round ${round}`)

    // A cancellation reverts no setting: whatever was not applied is, as soon as anything brings all of the project up.
    const last = await app.ask<OperationAnswer>('POST', `/projects/${slug}/start?wait=30`)
    assert.equal(last.body.state, 'succeeded', `round ${round}: ${JSON.stringify(last.body.error)}`)
    const after = (await app.ask('GET', `/projects/${slug}`)).body
    assert.deepEqual([after.observedGeneration, after.status.state], [after.generation, 'running'], `round ${round}`)
    const env = runningEnv(app, id) ?? {}
    assert.deepEqual(Object.fromEntries(Object.keys(wanted).map((name) => [name, env[name]])), wanted, `round ${round}`)
  }
})

test('twenty variables set one after the other by a script, none waited for: all are there after at most three restarts', async (t) => {
  const app = await openTestApp(t)
  const { ask, engine } = app
  engine.machine.files.has = () => true
  const { id } = (await ask('POST', '/projects?wait=30', { name: 'Shop', static: {} })).body
  const apply = engine.apply.bind(engine)
  engine.apply = async (step, context) => {
    if (step.do === 'start') await sleep(1_000)
    await apply(step, context)
  }
  const before = engine.applied.filter(({ step }) => step.do === 'start').length
  for (let count = 0; count < 20; count += 1) {
    const { status, body } = await ask('PATCH', '/projects/shop', { env: { [`VARIABLE_${count}`]: `${count}` } })
    assert.equal(status, 200, JSON.stringify(body))
  }
  const last = await ask('PATCH', '/projects/shop?wait=30', { env: { LAST: 'yes' } })
  assert.equal(last.body.operation?.state, 'succeeded')
  const { generation, observedGeneration } = (await ask('GET', '/projects/shop')).body
  assert.equal(observedGeneration, generation)
  const env = runningEnv(app, id)
  for (let count = 0; count < 20; count += 1) assert.equal(env?.[`VARIABLE_${count}`], `${count}`)
  assert.equal(env?.LAST, 'yes')
  const restarts = engine.applied.filter(({ step }) => step.do === 'start').length - before
  assert.ok(restarts <= 3, `${restarts} restarts`)
})

test('a start that is accepted between the look of a change and its write carries the change out', async (t) => {
  const app = await openTestApp(t)
  const { ask, engine } = app
  engine.machine.files.has = () => true
  const made = await ask('POST', '/projects?wait=30', { name: 'Shop', static: {}, start: false })
  for (const headers of [{}, { 'if-match': `"${made.body.generation + 1}"` }]) {
    await ask('POST', '/projects/shop/stop?wait=30')
    const operations = app.store.operations as { unfinishedOf: typeof app.store.operations.unfinishedOf }
    const { unfinishedOf } = operations
    let isStarted = false
    operations.unfinishedOf = async (project) => {
      operations.unfinishedOf = unfinishedOf
      const unfinished = await unfinishedOf(project)
      // Not waited for: the change goes on with what it has just seen.
      isStarted = (await ask('POST', '/projects/shop/start')).status === 202
      return unfinished
    }
    const value = String(Object.keys(headers).length)
    const changed = await ask('PATCH', '/projects/shop?wait=30', { env: { A: value } }, headers)
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
    assert.ok(isStarted)
    assert.equal(runningEnv(app, made.body.id)?.A, value)
    assert.equal(changed.body.observedGeneration, changed.body.generation)
  }
})
