import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sweep, waitFor } from '@stackquay/testkit'
import { type ForgeDelivery, forgeDeliveries } from '@stackquay/testkit/forge-deliveries'
import { openTestApp, type TestApp } from './app-support.ts'
import { deliver, gitIn, hookOf, type Manner, renamed } from './forge-support.ts'

/** What is answered, in the words of the examples; the project takes no pull requests. */
function answered({ says }: ForgeDelivery, outcome: string, reason: string | null): boolean {
  switch (says.act) {
    case 'deploy':
      return outcome === 'accepted' && reason === null
    case 'close':
      return outcome === 'ignored' && reason === 'It has no environment.'
    case 'nothing':
      return outcome === 'ignored' && !/pullRequests is off|no environment\./.test(reason ?? '')
    default:
      return outcome === 'ignored' && /pullRequests is off/.test(reason ?? '')
  }
}

describe('deliveries as forges document them, signed', { concurrency: 1 }, () => {
  for (const forge of ['github', 'gitlab', 'gitea', 'forgejo'] as const)
    it(`of ${forge}: only the right one, and once`, async (t) => {
      const app = await openTestApp(t)
      const hook = await hookOf(app)
      const send = (one: ForgeDelivery, manner?: Manner) => deliver(app, hook, one, manner)
      const all = forgeDeliveries.filter((one) => one.forge === forge)
      for (const one of all) {
        const { status, json } = await send(one)
        assert.ok(status === 200 || status === 202, `${one.name}: ${JSON.stringify(json)}`)
        assert.ok(answered(one, json.outcome, json.reason), `${one.name}: ${JSON.stringify(json)}`)
      }
      for (const one of all.filter(({ says }) => says.act !== 'nothing')) {
        assert.equal((await send(one)).json.outcome, 'replayed', one.name)
        // Under another id, the same signed body is the same delivery.
        const other = { ...one, headers: renamed(one.headers, 'other') }
        assert.equal((await send(other)).json.outcome, 'replayed', one.name)
      }
      const at = (name: string) => all.find((one) => one.name === name)!
      const parallel = { ...at('opened'), payload: { ...at('opened').payload, sent: 1 } }
      const twins = await Promise.all(
        [1, 2, 3].map(() => send({ ...parallel, headers: renamed(parallel.headers, 'twin') })),
      )
      assert.deepEqual(twins.map(({ json }) => json.outcome).sort(), ['ignored', 'replayed', 'replayed'])
      for (const one of all.slice(0, 5)) assert.equal((await send(one, { key: 'whsec_AAAA' })).status, 403, one.name)
      if (forge !== 'gitlab') return
      assert.equal((await send(at('merged'), { ageSeconds: 400 })).json.code, 'signature_invalid')
      assert.equal((await send(at('merged'), { plain: true })).json.outcome, 'replayed')
      assert.equal((await send(at('merged'), { plain: true, key: 'wrong' })).status, 403)
    })
})

const child = fileURLToPath(new URL('children/killed-at-delivery.ts', import.meta.url))

/** A service that is killed when it has written the delivery down, and has done nothing of it. */
async function killedAt(home: string, name: string): Promise<void> {
  const program = spawn(process.execPath, [child, home, name], { stdio: ['ignore', 'inherit', 'inherit'] })
  const [, signal] = await once(program, 'exit')
  assert.equal(signal, 'SIGKILL', `${name}: it was not killed`)
}

async function opened(home: string): Promise<TestApp & { close(): Promise<void> }> {
  const closers: (() => unknown)[] = []
  const app = await openTestApp({ after: (close: () => unknown) => closers.push(close) } as never, { home })
  return {
    ...app,
    close: async () => {
      for (const close of closers) await close()
    },
  }
}

describe('a pull request whose delivery was written down when the service was killed', () => {
  it('gets its environment, loses it at its end, and knows that when it comes back from the trash', async (t: TestContext) => {
    const home = await mkdtemp(join(tmpdir(), 'stackquay-killed-'))
    t.after(async () => {
      await sweep(home)
      await rm(home, { recursive: true, force: true })
    })
    await killedAt(home, 'opened')
    const app = await opened(home)
    const { store } = app.app
    const { id: parent } = (await store.projects.find('shop'))!
    const row = await waitFor('the environment', async () => (await store.branches.find(parent, 'cart')) ?? undefined)
    assert.deepEqual([row.pullRequest?.number, row.actor.startsWith('webhook (github: ')], [12, true])
    const ready = async () => (await store.projects.find(row.project!))?.phase === 'ready' || undefined
    await waitFor('its creation', ready)
    assert.deepEqual(await store.deploys.pendingPullRequests(), [])
    const [delivery] = await store.deploys.deliveries(parent, 1)
    assert.deepEqual([delivery?.outcome, delivery?.reason], ['accepted', null])
    // As if the forge had its commits: what is nowhere else stays.
    const { path } = (await store.projects.find(row.project!))!
    await gitIn(path, 'update-ref', 'refs/remotes/origin/cart', 'HEAD')
    await app.close()

    await killedAt(home, 'merged')
    const after = await opened(home)
    t.after(() => after.close())
    const headers = await after.session()
    const find = async () =>
      (await after.app.store.trash.all()).find(({ name, state }) => name === 'cart--shop' && state === 'kept')
    const item = await waitFor('the trash', find)
    const back = await after.call('restoreTrash', { params: { item: item.id }, query: { wait: '10' }, headers })
    assert.equal(back.status, 200, back.body)
    const [one] = (await after.call('listBranches', { params: { id: 'shop' }, headers })).json.items
    assert.deepEqual([one.branch, one.pullRequest.number, one.pullRequest.closed], ['cart', 12, true])
    assert.match(one.warning, /pull request is closed/)
  })
})
