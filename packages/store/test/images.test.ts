import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newProject, tempStore } from './temp-store.ts'

const db = (image: string, reference = 'postgres:18') => ({ workload: 'db', reference, image })

test('builds that a workload had are listed newest first, and each once', async (t) => {
  const { store, clock } = await tempStore(t)
  const { id } = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  const use = async (image: ReturnType<typeof db>) => {
    clock.pass(1000)
    await store.transaction((tx) => tx.images.used(id, image))
  }
  await use(db('a'))
  await use(db('b'))
  await use({ ...db('c'), workload: 'cache' })
  await use(db('a'))
  const uses = await store.images.uses(id, 'db')
  assert.deepEqual(
    uses.map(({ image, firstUsedAt, lastUsedAt }) => [image, firstUsedAt.slice(17, 19), lastUsedAt.slice(17, 19)]),
    [
      ['a', '01', '04'],
      ['b', '02', '02'],
    ],
  )
  assert.deepEqual(
    (await store.images.uses(id)).map(({ workload }) => workload),
    ['db', 'cache', 'db'],
  )
})

test('of one image the last builds are remembered, and another image of the workload does not cost them', async (t) => {
  const { store, clock } = await tempStore(t)
  const { id } = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  await store.transaction((tx) => tx.images.used(id, db('other', 'postgres:17')))
  for (let build = 0; build < 30; build += 1) {
    clock.pass(1)
    await store.transaction((tx) => tx.images.used(id, db(String(build))))
  }
  const uses = await store.images.uses(id, 'db')
  const remembered = uses.filter(({ reference }) => reference === 'postgres:18').map(({ image }) => image)
  assert.deepEqual([remembered.length, remembered[0]], [20, '29'])
  assert.ok(uses.some(({ image }) => image === 'other'))
})

test('a chosen build stands for one reference of a workload until it is taken back', async (t) => {
  const { store } = await tempStore(t)
  const { id } = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  await store.transaction(async (tx) => {
    await tx.images.pin(id, db('a'))
    await tx.images.pin(id, db('b'))
    await tx.images.pin(id, db('c', 'postgres:17'))
  })
  assert.deepEqual(await store.images.pins(id), [db('c', 'postgres:17'), db('b')])
  await store.transaction((tx) => tx.images.unpin(id, 'db', 'postgres:18'))
  await store.transaction((tx) => tx.images.unpin(id, 'db', 'postgres:18'))
  assert.deepEqual(await store.images.pins(id), [db('c', 'postgres:17')])
})

test('a deleted project takes along what is known of its images', async (t) => {
  const { store } = await tempStore(t)
  const { id } = await store.transaction((tx) => tx.projects.insert(newProject('shop', { engine: 'docker' })))
  assert.equal((await store.projects.find(id))?.engine, 'docker')
  await store.transaction(async (tx) => {
    await tx.images.used(id, db('a'))
    await tx.images.pin(id, db('a'))
  })
  await store.transaction((tx) => tx.projects.delete(id))
  assert.deepEqual([await store.images.uses(id), await store.images.pins(id)], [[], []])
  assert.deepEqual(await store.checkIntegrity(), [])
})
