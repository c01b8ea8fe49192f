import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../src/index.ts'
import { newProject, tempStore } from './temp-store.ts'

const terminal = (id: string, project = 'prj_1') => ({
  id,
  project,
  workload: 'node',
  title: 'bash',
  actor: 'ada',
  owner: 'usr_1',
})

async function withTerminals(store: Store): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.projects.insert(newProject('shop', { id: 'prj_1' }))
    await tx.projects.insert(newProject('blog', { id: 'prj_2' }))
    for (const one of [terminal('term_1'), terminal('term_2'), terminal('term_3', 'prj_2')])
      await tx.terminals.insert(one)
  })
}

const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)

test('terminals are found by id, by project and all together, the oldest first', async (t) => {
  const { store } = await tempStore(t)
  await withTerminals(store)
  assert.deepEqual(await store.terminals.find('term_1'), {
    ...terminal('term_1'),
    exitCode: null,
    signal: null,
    cause: null,
    createdAt: '2026-01-01T00:00:00.000Z',
    endedAt: null,
  })
  assert.equal(await store.terminals.find('term_9'), null)
  assert.deepEqual(ids(await store.terminals.of('prj_1')), ['term_1', 'term_2'])
  assert.deepEqual(ids(await store.terminals.all()), ['term_1', 'term_2', 'term_3'])
})

test('how a terminal ended is written once, and what came first holds', async (t) => {
  const { store } = await tempStore(t)
  await withTerminals(store)
  const end = { exitCode: 3, signal: null, cause: 'exited', at: '2026-01-01T00:01:00.000Z' } as const
  await store.transaction((tx) => tx.terminals.ended('term_1', end))
  await store.transaction((tx) =>
    tx.terminals.ended('term_1', { exitCode: null, signal: 'SIGHUP', cause: 'lost', at: '2026-01-01T00:02:00.000Z' }),
  )
  const row = (await store.terminals.find('term_1'))!
  assert.deepEqual([row.exitCode, row.signal, row.cause, row.endedAt], [3, null, 'exited', end.at])
  await store.transaction((tx) => tx.terminals.delete('term_1'))
  assert.equal(await store.terminals.find('term_1'), null)
  await store.transaction((tx) => tx.terminals.delete('term_1'))
})

test('a project takes its terminals along when it is deleted', async (t) => {
  const { store } = await tempStore(t)
  await withTerminals(store)
  await store.transaction((tx) => tx.projects.delete('prj_1'))
  assert.deepEqual(ids(await store.terminals.all()), ['term_3'])
})
