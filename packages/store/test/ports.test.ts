import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NoPortError } from '../src/index.ts'
import { newProject, tempStore } from './temp-store.ts'

function* range(first: number, last: number) {
  for (let port = first; port <= last; port += 1) yield port
}

test('a lease stays, another place gets another port, and candidates are asked for one by one', async (t) => {
  const { store } = await tempStore(t)
  await store.transaction((tx) => tx.projects.insert(newProject('shop', { id: 'prj_1' })))
  const asked: number[] = []
  function* candidates() {
    for (const port of range(20000, 20999)) {
      asked.push(port)
      yield port
    }
  }
  const lease = (workload: string) => store.transaction((tx) => tx.ports.lease('prj_1', workload, 'http', candidates()))
  assert.equal(await lease('web'), 20000)
  assert.equal(await lease('web'), 20000)
  assert.equal(await lease('api'), 20001)
  assert.deepEqual(asked, [20000, 20000, 20001])
  assert.equal(await store.transaction((tx) => tx.ports.move('prj_1', 'web', 'http', candidates())), 20002)
  assert.deepEqual(await store.ports.of('prj_1'), [
    { project: 'prj_1', workload: 'api', port: 'http', hostPort: 20001 },
    { project: 'prj_1', workload: 'web', port: 'http', hostPort: 20002 },
  ])
  await store.transaction((tx) => tx.ports.release('prj_1', 'api'))
  assert.equal(await lease('job'), 20000)
  await store.transaction((tx) => tx.ports.release('prj_1'))
  assert.deepEqual(await store.ports.all(), [])
})

test('who listens for leases hears of each commit that changed some, and of no other', async (t) => {
  const { store } = await tempStore(t)
  let heard = 0
  const stop = store.onLeases(() => {
    heard += 1
  })
  const counted = async (work: Parameters<typeof store.transaction>[0]) => {
    const before = heard
    await store.transaction(work).catch(() => {})
    return heard - before
  }
  assert.equal(await counted((tx) => tx.projects.insert(newProject('shop', { id: 'prj_1' }))), 0)
  assert.equal(await counted((tx) => tx.ports.lease('prj_1', 'web', 'http', [20000])), 1)
  assert.equal(await counted((tx) => tx.ports.lease('prj_1', 'web', 'http', [20001])), 0, 'it has one')
  assert.equal(await counted((tx) => tx.ports.move('prj_1', 'web', 'http', [20001])), 1)
  const undone = counted(async (tx) => {
    await tx.ports.release('prj_1')
    throw new Error('rolled back')
  })
  assert.equal(await undone, 0)
  assert.equal(await counted((tx) => tx.ports.release('prj_1', 'web')), 1)
  assert.equal(await counted((tx) => tx.projects.delete('prj_1')), 1)
  stop()
  await store.transaction((tx) => tx.projects.insert(newProject('shop', { id: 'prj_2' })))
  assert.equal(await counted((tx) => tx.ports.lease('prj_2', 'web', 'http', [20000])), 0)
})

test('a range without a free port is said', async (t) => {
  const { store } = await tempStore(t)
  await store.transaction((tx) => tx.projects.insert(newProject('shop', { id: 'prj_1' })))
  await store.transaction((tx) => tx.ports.lease('prj_1', 'web', 'http', [20000]))
  for (const act of ['lease', 'move'] as const) {
    await assert.rejects(
      store.transaction((tx) => tx.ports[act]('prj_1', 'api', 'http', [20000])),
      NoPortError,
    )
  }
  assert.equal((await store.ports.all()).length, 1)
})

test('whatever is leased, moved and released at random, no port has two holders and no place two ports', async (t) => {
  const { store } = await tempStore(t)
  const projects = ['prj_1', 'prj_2', 'prj_3']
  await store.transaction(async (tx) => {
    for (const id of projects) await tx.projects.insert(newProject(id.replace('_', '-'), { id }))
  })
  let seed = 20_260_101
  const chance = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % below
  }
  const model = new Map<string, number>()
  for (let round = 0; round < 400; round += 1) {
    const project = projects[chance(3)] ?? ''
    const [workload, name] = [`w${chance(3)}`, `p${chance(2)}`]
    const place = `${project} ${workload} ${name}`
    const action = (['lease', 'lease', 'move', 'release'] as const)[chance(4)] ?? 'lease'
    try {
      if (action === 'release') {
        await store.transaction((tx) => tx.ports.release(project, workload))
        for (const key of [...model.keys()]) if (key.startsWith(`${project} ${workload} `)) model.delete(key)
      } else {
        const port = await store.transaction((tx) => tx.ports[action](project, workload, name, range(20000, 20009)))
        const before = model.get(place)
        if (before !== undefined) assert.equal(before === port, action === 'lease')
        model.set(place, port)
      }
    } catch (error) {
      assert.ok(error instanceof NoPortError, String(error))
      assert.equal(model.size, 10)
    }
    const leases = await store.ports.all()
    assert.equal(new Set(leases.map((lease) => lease.hostPort)).size, leases.length)
    assert.deepEqual(
      Object.fromEntries(leases.map((lease) => [`${lease.project} ${lease.workload} ${lease.port}`, lease.hostPort])),
      Object.fromEntries([...model]),
    )
  }
})
