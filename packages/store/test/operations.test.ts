import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChangedError } from '../src/index.ts'
import { newProject, tempStore } from './temp-store.ts'

const operation = (id: string, project: string) =>
  ({ id, kind: 'start', project, actor: 'ada', input: { workload: 'web' }, requestId: 'req_1' }) as const

test('an operation is queued, changed field by field, and read as it is', async (t) => {
  const { store } = await tempStore(t)
  await store.transaction(async (tx) => {
    await tx.projects.insert(newProject('shop', { id: 'prj_1' }))
    await tx.operations.insert(operation('op_1', 'prj_1'))
  })
  const queued = await store.operations.find('op_1')
  assert.deepEqual(queued, {
    ...operation('op_1', 'prj_1'),
    state: 'queued',
    steps: [],
    progress: 0,
    error: null,
    attempts: 0,
    createdAt: '2026-01-01T00:00:00.000Z',
    startedAt: null,
    finishedAt: null,
    generation: null,
    requestedBy: [{ actor: queued?.actor, requestId: queued?.requestId, at: '2026-01-01T00:00:00.000Z' }],
  })
  const steps = [
    { id: 's', title: 'Start web', state: 'running', startedAt: null, finishedAt: null, output: ['é'] },
  ] as const
  const change = {
    state: 'running',
    steps: steps.map((step) => ({ ...step, output: [...step.output] })),
    progress: 0.5,
    attempts: 1,
  } as const
  const written = await store.transaction((tx) => tx.operations.update('op_1', change))
  assert.deepEqual(written, { ...queued, ...change })
  assert.deepEqual(await store.transaction((tx) => tx.operations.update('op_1', {})), written)
  await assert.rejects(
    store.transaction((tx) => tx.operations.update('op_2', change)),
    ChangedError,
  )
})

test('lists are newest first and by what was asked; the running one holds the project', async (t) => {
  const { store } = await tempStore(t)
  await store.transaction(async (tx) => {
    await tx.projects.insert(newProject('shop', { id: 'prj_1' }))
    await tx.projects.insert(newProject('blog', { id: 'prj_2' }))
    for (const [id, project] of [
      ['op_1', 'prj_1'],
      ['op_2', 'prj_1'],
      ['op_3', 'prj_2'],
      ['op_4', 'prj_1'],
    ] as const) {
      await tx.operations.insert(operation(id, project))
    }
    await tx.operations.update('op_1', { state: 'succeeded' })
    await tx.operations.update('op_4', { state: 'running' })
  })
  const ids = async (options: Omit<Parameters<typeof store.operations.list>[0], 'limit'>) =>
    (await store.operations.list({ limit: 50, ...options })).map((row) => row.id)
  assert.deepEqual(await ids({}), ['op_4', 'op_3', 'op_2', 'op_1'])
  assert.deepEqual(await ids({ cursor: 'op_3' }), ['op_2', 'op_1'])
  assert.deepEqual(await ids({ project: 'prj_1' }), ['op_4', 'op_2', 'op_1'])
  assert.deepEqual(await ids({ projects: ['prj_2'] }), ['op_3'])
  assert.deepEqual(await ids({ projects: [] }), [])
  assert.deepEqual(await ids({ state: 'queued' }), ['op_3', 'op_2'])
  assert.deepEqual(await ids({ active: true }), ['op_4', 'op_3', 'op_2'])
  assert.deepEqual(await ids({ active: false }), ['op_1'])
  assert.equal((await store.operations.active('prj_1'))?.id, 'op_4')
  assert.equal(await store.operations.active('prj_9'), null)
  assert.deepEqual(
    (await store.operations.unfinished()).map((row) => row.id),
    ['op_2', 'op_3', 'op_4'],
  )
})

test('requests are merged into an operation that waits, which carries all of them, and into no other', async (t) => {
  const { store, clock } = await tempStore(t)
  await store.transaction(async (tx) => {
    await tx.projects.insert(newProject('shop', { id: 'prj_1' }))
    await tx.operations.insert(operation('op_1', 'prj_1'))
    await tx.operations.insert(operation('op_2', 'prj_1'))
    await tx.operations.update('op_1', { state: 'running' })
  })
  clock.pass(1000)
  const request = { kind: 'stop', input: { acts: [] }, actor: 'eve', requestId: 'req_9' } as const
  const merged = await store.transaction((tx) => tx.operations.merge('op_2', request))
  assert.deepEqual([merged.kind, merged.input, merged.actor], ['stop', { acts: [] }, operation('op_2', 'prj_1').actor])
  assert.deepEqual(merged.requestedBy[1], { actor: 'eve', requestId: 'req_9', at: '2026-01-01T00:00:01.000Z' })
  assert.deepEqual(
    (await store.operations.unfinishedOf('prj_1')).map(({ id }) => id),
    ['op_1', 'op_2'],
  )
  for (const late of [
    store.transaction((tx) => tx.operations.merge('op_1', request)),
    store.transaction((tx) => tx.operations.cancel('op_1')),
  ])
    await assert.rejects(late, ChangedError)
  assert.equal((await store.transaction((tx) => tx.operations.cancel('op_2'))).state, 'cancelled')
  assert.equal((await store.operations.unfinishedOf('prj_1')).length, 1)
})
