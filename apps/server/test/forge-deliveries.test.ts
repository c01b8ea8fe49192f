import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { type ForgeDelivery, forgeDeliveries } from '@stackquay/testkit/forge-deliveries'
import { openTestApp, type TestApp } from './app-support.ts'

/** Deliveries to a project whose folder is a repository with a webhook. */
async function hookOf({ app, call, session }: TestApp) {
  const headers = await session()
  await call('createProject', { body: { name: 'shop', start: false }, query: { wait: '10' }, headers })
  const { path } = (await app.store.projects.find('shop'))!
  const { uid, gid } = await stat(path)
  const env = { PATH: process.env.PATH, HOME: '/nonexistent' }
  execFileSync('git', ['init', '--quiet', '--initial-branch=main'], { cwd: path, env, uid, gid })
  const put = await call('putGitWebhook', { params: { id: 'shop' }, body: { enabled: true, branch: 'main' }, headers })
  assert.equal(put.status, 200, put.body)
  const deliver = (delivery: ForgeDelivery, { key = put.json.secret as string, age = 0, plain = false } = {}) =>
    call('receivePush', {
      params: { hook: put.json.address.split('/').at(-1) },
      body: delivery.payload,
      headers: { ...delivery.headers, ...signatureOf(delivery, key, age, plain) },
    })
  return deliver
}

function signatureOf({ forge, headers, payload }: ForgeDelivery, key: string, age: number, plain: boolean) {
  const body = JSON.stringify(payload)
  const hex = createHmac('sha256', key).update(body).digest('hex')
  if (forge === 'github') return { 'x-hub-signature-256': `sha256=${hex}` }
  // As Gitea and Forgejo do: each under all the names that it sends.
  const shared = { 'x-gitea-signature': hex, 'x-gogs-signature': hex, 'x-hub-signature-256': `sha256=${hex}` }
  if (forge === 'gitea') return shared
  if (forge === 'forgejo') return { ...shared, 'x-forgejo-signature': hex }
  if (plain) return { 'x-gitlab-token': key }
  const id = headers['idempotency-key']!
  const at = String(Math.floor(Date.now() / 1000) - age)
  const secret = Buffer.from(key.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', secret).update(`${id}.${at}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` }
}

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
      const deliver = await hookOf(app)
      const all = forgeDeliveries.filter((one) => one.forge === forge)
      for (const one of all) {
        const { status, json } = await deliver(one)
        assert.ok(status === 200 || status === 202, `${one.name}: ${JSON.stringify(json)}`)
        assert.ok(answered(one, json.outcome, json.reason), `${one.name}: ${JSON.stringify(json)}`)
      }
      for (const one of all.filter(({ says }) => says.act !== 'nothing')) {
        assert.equal((await deliver(one)).json.outcome, 'replayed', one.name)
        // Under another id, the same signed body is the same delivery.
        const other = { ...one, headers: renamed(one.headers, 'other') }
        assert.equal((await deliver(other)).json.outcome, 'replayed', one.name)
      }
      const at = (name: string) => all.find((one) => one.name === name)!
      const parallel = { ...at('opened'), payload: { ...at('opened').payload, sent: 1 } }
      const twins = await Promise.all(
        [1, 2, 3].map(() => deliver({ ...parallel, headers: renamed(parallel.headers, 'twin') })),
      )
      assert.deepEqual(twins.map(({ json }) => json.outcome).sort(), ['ignored', 'replayed', 'replayed'])
      for (const one of all.slice(0, 5)) assert.equal((await deliver(one, { key: 'whsec_AAAA' })).status, 403, one.name)
      if (forge !== 'gitlab') return
      assert.equal((await deliver(at('merged'), { age: 400 })).json.code, 'signature_invalid')
      assert.equal((await deliver(at('merged'), { plain: true })).json.outcome, 'replayed')
      assert.equal((await deliver(at('merged'), { plain: true, key: 'wrong' })).status, 403)
    })
})

/** Every header that names the delivery, with another name. */
function renamed(headers: ForgeDelivery['headers'], suffix: string): ForgeDelivery['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      /-delivery$|^idempotency-key$/.test(name) ? `${value}-${suffix}` : value,
    ]),
  )
}
