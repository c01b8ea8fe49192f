import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore, type Store } from '../src/index.ts'
import { tempStore } from './temp-store.ts'

const append = (store: Store, number: number) =>
  store.transaction((tx) => tx.events.append({ type: 'project.changed', project: 'prj_1', data: { number } }))

test('events are read oldest first after a number, and numbers are never given twice', async (t) => {
  const { store, options } = await tempStore(t)
  assert.deepEqual(await store.events.range(), { first: 0, last: 0 })
  for (const number of [1, 2, 3, 4]) await append(store, number)
  assert.deepEqual(
    (await store.events.after(1, 2)).map((event) => event.seq),
    [2, 3],
  )
  await store.transaction((tx) => tx.events.trim(4))
  assert.deepEqual(await store.events.range(), { first: 4, last: 4 })
  await store.transaction((tx) => tx.events.trim(100))
  assert.deepEqual(await store.events.range(), { first: 0, last: 0 })
  await store.close()
  const again = await openStore(options)
  t.after(() => again.close())
  assert.equal((await append(again, 5)).seq, 5)
})

test('what a listener hears is what a later reader gets', async (t) => {
  const { store } = await tempStore(t)
  const heard: unknown[] = []
  store.onCommit((events) => heard.push(...events))
  const data: Record<string, unknown> = { number: 1, gone: undefined }
  await store.transaction(async (tx) => {
    await tx.events.append({ type: 'operation.changed', project: null, data })
    data.number = 2
  })
  assert.deepEqual(heard, await store.events.after(0, 10))
  assert.deepEqual((heard[0] as { data: unknown }).data, { number: 1 })
})

test('a setting is what was set last', async (t) => {
  const { store } = await tempStore(t)
  assert.equal(await store.settings.get('portRange'), null)
  for (const value of [{ first: 1 }, 'text', 0, false, null]) {
    await store.transaction((tx) => tx.settings.set('portRange', value))
    assert.deepEqual(await store.settings.get('portRange'), value)
  }
})
