import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { emptySpec } from '@stackquay/domain'
import type { PortRule } from '@stackquay/engines'
import { openStore } from '@stackquay/store'
import { createPortWallsKeeper } from '../src/isolation/port-walls-keeper.ts'

test('walls follow the leases, and a project without a user has nobody who may', async (t) => {
  const { store, users, keeper, set, last } = await opened(t)
  await store.transaction((tx) => tx.ports.lease('prj_1', 'web', 'http', [20_000]))
  assert.equal(set.length, 0, 'before the start of the service nothing is set')
  await keeper.renew()
  assert.deepEqual(last(), [{ port: 20_000, uid: 50_001 }])

  await store.transaction((tx) => tx.ports.lease('prj_2', 'web', 'http', [20_001]))
  await keeper.ready('prj_2')
  assert.deepEqual(last(), [
    { port: 20_000, uid: 50_001 },
    { port: 20_001, uid: null },
  ])
  users.set('prj_2', 50_002)
  await keeper.ready('prj_2')
  assert.deepEqual(last().at(-1), { port: 20_001, uid: 50_002 })

  const count = set.length
  await keeper.ready('prj_1')
  await keeper.ready('prj_2')
  assert.equal(set.length, count, 'a start that changes nothing sets nothing')

  await store.transaction((tx) => tx.projects.delete('prj_2'))
  await until(() => last().length === 1)
})

test('ports of a test run belong to its project, for as long as the run has them', async (t) => {
  const { keeper, runPorts, last } = await opened(t)
  await keeper.renew()
  runPorts.push({ run: 'run_1', port: 29_999 }, { run: 'run_gone', port: 29_998 })
  await keeper.ready('run_1')
  assert.deepEqual(last(), [
    { port: 29_999, uid: 50_001 },
    { port: 29_998, uid: null },
  ])
  runPorts.length = 0
  await keeper.ready('prj_1')
  assert.deepEqual(last(), [])
})

test('nothing starts while the walls cannot be set, and the next start tries again', async (t) => {
  const { store, keeper, set, state } = await opened(t)
  await keeper.renew()
  state.failure = new Error('nft: Operation not permitted')
  await store.transaction((tx) => tx.ports.lease('prj_1', 'web', 'http', [20_000]))
  await assert.rejects(keeper.ready('prj_1'), { code: 'engine_unavailable', retryable: true, message: /not permitted/ })
  await assert.rejects(keeper.ready('prj_1'), { code: 'engine_unavailable' })
  state.failure = null
  await keeper.ready('prj_1')
  assert.deepEqual(set.at(-1), [{ port: 20_000, uid: 50_001 }])
})

test('what was read first is never written last', async (t) => {
  const { store, keeper, state, last } = await opened(t)
  await keeper.renew()
  state.delays = [50, 0, 0, 0]
  await store.transaction((tx) => tx.ports.lease('prj_1', 'web', 'http', [20_000]))
  const slow = keeper.renew()
  await store.transaction((tx) => tx.ports.lease('prj_1', 'api', 'http', [20_001]))
  await Promise.all([slow, keeper.renew(), keeper.ready('prj_1')])
  assert.deepEqual(
    last().map(({ port }) => port),
    [20_000, 20_001],
  )
})

test('walls are written again without a change, and no more after the end', async (t) => {
  const { keeper, set } = await opened(t, 10)
  await sleep(40)
  assert.equal(set.length, 0)
  await keeper.renew()
  await until(() => set.length >= 3)
  await keeper.close()
  const count = set.length
  await sleep(50)
  assert.equal(set.length, count)
})

/** A real store; the walls are a list of what was set, because the firewall has tests of its own. */
async function opened(t: TestContext, againMs?: number) {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-walls-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const store = await openStore({
    file: join(folder, 'state.db'),
    sealingKey: { id: 'key_a', key: randomBytes(32) },
    clock: { now: () => new Date() },
  })
  const users = new Map([['prj_1', 50_001]])
  const set: (readonly PortRule[])[] = []
  const runPorts: { run: string; port: number }[] = []
  const state: { failure: Error | null; delays: number[] } = { failure: null, delays: [] }
  for (const id of ['prj_1', 'prj_2'])
    await store.transaction((tx) =>
      tx.projects.insert({
        id,
        slug: id.replace('_', '-'),
        spec: emptySpec(id),
        engine: 'native',
        desired: 'stopped',
        phase: 'ready',
        path: folder,
        source: { kind: 'empty' },
      }),
    )
  const keeper = createPortWallsKeeper({
    store: {
      ports: { all: async () => store.ports.all().finally(() => sleep(state.delays.shift() ?? 0)) },
      runs: { find: async (id) => (id === 'run_1' ? ({ project: 'prj_1' } as never) : null) },
      operations: { find: async () => null },
      onLeases: store.onLeases,
    },
    accounts: {
      known: (project) => {
        const uid = users.get(project)
        return uid === undefined ? undefined : { uid, gid: uid }
      },
      all: () => [...users].map(([project, uid]) => ({ project, account: { uid, gid: uid } })),
    },
    walls: {
      kind: 'nft',
      async set(rules) {
        if (state.failure !== null) throw state.failure
        set.push(rules)
      },
      fault: () => state.failure?.message ?? null,
      close: async () => {},
      remove: async () => {},
    },
    runPorts: () => runPorts,
    onError: (error) => assert.fail(error as Error),
    ...(againMs === undefined ? {} : { againMs }),
  })
  t.after(async () => {
    await keeper.close()
    await store.close()
  })
  return { store, users, set, runPorts, state, keeper, last: () => set.at(-1) ?? [] }
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let waited = 0; !isTrue(); waited += 5) {
    assert.ok(waited < 5000, 'it never came')
    await sleep(5)
  }
}
