import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ProxyControl, ProxyStatus } from '@stackquay/proxy/control'
import type { RouteTable } from '@stackquay/proxy/route-table'
import { waitFor } from '@stackquay/testkit'
import { createProxyKeeper } from '../src/proxy-keeper.ts'

const tableOf = (generation: number): RouteTable => ({ version: 1, generation, routes: [] })

test('a table that a busy proxy did not take is given to it again, though nothing changes', async (t) => {
  const proxy = standIn(t)
  await proxy.keeper.put(tableOf(1))
  proxy.refuse(2)
  await assert.rejects(proxy.keeper.put(tableOf(2)), /no answer/)
  assert.deepEqual(proxy.taken, [1])
  await waitFor('the table', () => proxy.taken.length > 1)
  assert.deepEqual(proxy.taken, [1, 2])
})

test('one that is gone is opened again and told all there is; one that has all of it is left alone', async (t) => {
  const proxy = standIn(t)
  await proxy.keeper.put(tableOf(1))
  proxy.end()
  await waitFor('the table', () => proxy.taken.length > 1)
  await new Promise((resolve) => setTimeout(resolve, 60))
  assert.deepEqual(proxy.taken, [1, 1])
})

/** Stands for the program: it refuses as often as it is told. */
function standIn(t: TestContext) {
  const taken: number[] = []
  let refusals = 0
  let lives = true
  const control = {
    status: async () => (lives ? ({} as ProxyStatus) : undefined),
    putRoutes: async ({ generation }: RouteTable) => {
      refusals -= 1
      if (refusals >= 0) throw new Error('no answer within 10 s')
      taken.push(generation)
      return {} as ProxyStatus
    },
  } as ProxyControl
  const keeper = createProxyKeeper({
    home: '/nowhere',
    listen: '127.0.0.1:1',
    socket: undefined,
    onError: () => {},
    lookEveryMs: 5,
    open: async () => {
      lives = true
      return control
    },
  })
  t.after(keeper.close)
  return {
    keeper,
    taken,
    refuse: (times: number) => {
      refusals = times
    },
    end: () => {
      lives = false
    },
  }
}
