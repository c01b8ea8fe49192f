import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type ProxyControl, ProxyError, type ProxyStatus } from '@stackquay/proxy/control'
import type { RouteChanges } from '@stackquay/proxy/route-changes'
import type { RouteTable } from '@stackquay/proxy/route-table'
import { waitFor } from '@stackquay/testkit'
import type { Publication } from '../src/projects/routes.ts'
import { createProxyKeeper } from '../src/proxy-keeper.ts'

const next = (generation: number): Publication => ({
  changes: { version: 1, generation, since: generation - 1, projects: [] },
  whole: () => ({ version: 1, generation, routes: [] }),
})

test('a table that a busy proxy did not take is given to it again, though nothing changes', async (t) => {
  const proxy = standIn(t)
  await proxy.keeper.put(next(1))
  proxy.refuse(2)
  await assert.rejects(proxy.keeper.put(next(2)), /no answer/)
  assert.deepEqual(proxy.taken, ['all of 1'])
  await waitFor('the table', () => proxy.taken.length > 1)
  assert.deepEqual(proxy.taken, ['all of 1', 'all of 2'])
})

test('a proxy that has what was told before is told what changed, another one everything', async (t) => {
  const proxy = standIn(t)
  await proxy.keeper.put(next(1))
  await proxy.keeper.put(next(2))
  assert.deepEqual(proxy.taken, ['all of 1', '1 to 2'])
  proxy.forget()
  await proxy.keeper.put(next(3))
  assert.deepEqual(proxy.taken, ['all of 1', '1 to 2', 'all of 3'])
  await proxy.keeper.put(next(4))
  assert.deepEqual(proxy.taken, ['all of 1', '1 to 2', 'all of 3', '3 to 4'])
})

test('one that is gone is opened again and told all there is; one that has all of it is left alone', async (t) => {
  const proxy = standIn(t)
  await proxy.keeper.put(next(1))
  proxy.end()
  await waitFor('the table', () => proxy.taken.length > 1)
  await new Promise((resolve) => setTimeout(resolve, 60))
  assert.deepEqual(proxy.taken, ['all of 1', 'all of 1'])
})

test('what one took while another came in its place is told to that one too', async (t) => {
  const proxy = standIn(t)
  await proxy.keeper.put(next(1))
  const answer = proxy.hold()
  const told = proxy.keeper.put(next(2))
  proxy.end()
  await waitFor('another proxy', () => proxy.opened() > 1)
  answer()
  await told
  await waitFor('the table', () => proxy.taken.length > 2)
  assert.deepEqual(proxy.taken, ['all of 1', '1 to 2', 'all of 2'])
})

/** Stands for the program: it refuses as often as it is told, and changes of routes that it does not have. */
function standIn(t: TestContext) {
  const taken: string[] = []
  let refusals = 0
  let lives = true
  let has = 0
  let opened = 0
  let held: Promise<void> = Promise.resolve()
  const take = (generation: number, what: string) => {
    refusals -= 1
    if (refusals >= 0) throw new Error('no answer within 10 s')
    has = generation
    taken.push(what)
    return {} as ProxyStatus
  }
  const control = {
    status: async () => (lives ? ({} as ProxyStatus) : undefined),
    putRoutes: async ({ generation }: RouteTable) => take(generation, `all of ${generation}`),
    changeRoutes: async ({ since, generation }: RouteChanges) => {
      if (since !== has) throw new ProxyError('routes_stale', 'It has others.')
      const status = take(generation, `${since} to ${generation}`)
      await held
      return status
    },
  } as unknown as ProxyControl
  const keeper = createProxyKeeper({
    home: '/nowhere',
    listen: '127.0.0.1:1',
    sockets: {},
    onError: () => {},
    lookEveryMs: 5,
    open: async () => {
      lives = true
      opened += 1
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
    forget: () => {
      has = 0
    },
    opened: () => opened,
    /** It takes changes from now on and answers when what is returned is called. */
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return resolve
    },
  }
}

test('each new proxy gets the certificates, and one that cannot use new ones keeps those before', async (t) => {
  const given: number[] = []
  let lives = false
  const control = {
    status: async () => (lives ? ({} as ProxyStatus) : undefined),
    setCertificates: async ({ generation }: { readonly generation: number }) => {
      if (generation === 2) throw new ProxyError('certificates_invalid', 'certificates[0].key is no private key')
      given.push(generation)
      return {} as ProxyStatus
    },
  } as unknown as ProxyControl
  const keeper = createProxyKeeper({
    home: '/nowhere',
    listen: '127.0.0.1:1',
    onError: () => {},
    lookEveryMs: 5,
    open: async () => {
      lives = true
      return control
    },
  })
  t.after(keeper.close)
  const all = (generation: number) => ({ generation, certificates: [], http01: [], tlsAlpn01: [] })
  await keeper.setCertificates(all(1))
  await assert.rejects(keeper.setCertificates(all(2)), { code: 'certificates_invalid' })
  assert.deepEqual(given, [1])
  lives = false
  const deadline = Date.now() + 10_000
  while (given.length < 2 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.deepEqual(given, [1, 1])
})
