import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Observations, Orchestrator } from '@stackquay/orchestrator'
import type { OperationRow, ProjectRow, Store } from '@stackquay/store'
import { waitFor } from '@stackquay/testkit/wait-for'
import type { Known, Model } from '../src/projects/model.ts'
import { reconcile } from '../src/resume/operations.ts'
import { type OperationAnswer, openTestApp, type TestApp } from './projects-support.ts'

const states = ({ engine }: TestApp, id: string) =>
  Object.fromEntries(
    [...engine.machine.workloads.values()]
      .filter(({ workload }) => workload.ref.project === id)
      .map(({ workload, state }) => [workload.ref.workload, state]),
  )

for (const [what, stop, after] of [
  [
    'of one workload is carried out after what ran goes on',
    { workload: 'static' },
    { static: 'stopped', redis: 'running' },
  ],
  ['of the project ends what ran', undefined, { static: 'stopped', redis: 'stopped' }],
] as const)
  test(`a stop that waited when the service ended: one ${what}`, async (t) => {
    const first = await openTestApp(t)
    first.engine.machine.files.has = () => true
    const { id } = (await first.ask('POST', '/projects?wait=30', { name: 'Shop', static: {}, redis: {} })).body
    const hang = first.engine.hangNext('start')
    const restart = (await first.ask<OperationAnswer>('POST', '/projects/shop/restart')).body
    await hang.reached
    const waiting = (await first.ask<OperationAnswer>('POST', '/projects/shop/stop', stop)).body
    const app = await first.reopen()
    hang.release()
    await waitFor('both to end', async () => (await app.store.operations.unfinishedOf(id)).length === 0)
    const ended = async (operation: string) => (await app.store.operations.find(operation))?.state
    assert.equal(await ended(waiting.id), 'succeeded')
    assert.equal(await ended(restart.id), stop === undefined ? 'cancelled' : 'succeeded')
    assert.deepEqual(states(app, id), after)
  })

test('a project that nothing may be merged into keeps no other from being brought to what is wanted', async () => {
  const rows = ['prj_busy', 'prj_down'].map(
    (id) => ({ id, slug: id, phase: 'ready', desired: 'running' }) as ProjectRow,
  )
  const resolved = (id: string) => ({
    workloads: [{ ref: { project: id, workload: 'web' }, dependsOn: [], jobs: [], fingerprint: 'x' }],
    unresolved: [],
  })
  // A rotation began after the look at what runs and waits.
  const rotation = { id: 'op_1', kind: 'update', project: 'prj_busy', state: 'running', input: { alone: true } }
  const queued: string[] = []
  const tx = {
    operations: { insert: async (one: OperationRow) => ({ ...one, state: 'queued', steps: [], attempts: 0 }) },
    events: { append: async () => undefined },
  }
  const store = {
    operations: {
      unfinished: async () => [],
      unfinishedOf: async (id: string) => (id === 'prj_busy' ? [rotation] : []),
    },
    projects: { find: async (id: string) => rows.find((row) => row.id === id) },
    transaction: (work: (given: typeof tx) => unknown) => Promise.resolve(work(tx)),
  }
  const model = {
    all: () => rows.map((row) => ({ row, resolved: resolved(row.id) }) as unknown as Known),
    setOperation() {},
  }
  const observations = { unknown: () => null, of: () => [] }
  const orchestrator = {
    submit: ({ project }: { project: string }) => queued.push(project),
  }
  await reconcile({
    store: store as unknown as Store,
    model: model as unknown as Model,
    observations: observations as unknown as Observations,
    orchestrator: orchestrator as unknown as Orchestrator,
  })
  assert.deepEqual(queued, ['prj_down'])
})
