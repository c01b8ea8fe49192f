import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PortLease } from '@stackquay/store'
import { NotGivenError, onceGiven } from '../src/projects/once-given.ts'

const lease = { project: 'prj_1', workload: 'db', port: 'db', hostPort: 24_000 }

/** A project that an operation holds for so many looks, and gives its port at one of them. */
function storeOf({ heldFor, givenAt }: { heldFor: number; givenAt: number }) {
  let looks = 0
  return {
    looks: () => looks,
    operations: { active: async () => (looks++ < heldFor ? { id: 'op_1' } : null) },
    ports: { of: async (): Promise<PortLease[]> => (looks >= givenAt ? [lease] : []) },
    secrets: { of: async () => ({}) },
  } as unknown as Parameters<typeof onceGiven>[2] & { looks(): number }
}

const port = ({ leases: [first] }: { leases: readonly PortLease[] }) => {
  if (first === undefined) throw new NotGivenError('It has no port yet.')
  return first.hostPort
}
const never = new AbortController().signal

test('what an operation is about to give is waited for', async () => {
  assert.equal(await onceGiven('prj_1', port, storeOf({ heldFor: 9, givenAt: 3 }), never), 24_000)
})

test('what was given while the operation ended is seen', async () => {
  assert.equal(await onceGiven('prj_1', port, storeOf({ heldFor: 1, givenAt: 2 }), never), 24_000)
})

test('without an operation, and for who has left, the answer comes at once', async () => {
  for (const [heldFor, signal] of [
    [0, never],
    [9, AbortSignal.abort()],
  ] as const) {
    const store = storeOf({ heldFor, givenAt: 5 })
    await assert.rejects(onceGiven('prj_1', port, store, signal), { code: 'not_found' })
    assert.equal(store.looks(), 1)
  }
})

test('any other error is told at once', async () => {
  const store = storeOf({ heldFor: 9, givenAt: 5 })
  await assert.rejects(
    onceGiven('prj_1', () => assert.fail('something else'), store, never),
    /something else/,
  )
  assert.equal(store.looks(), 1)
})
