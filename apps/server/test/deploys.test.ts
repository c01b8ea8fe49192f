import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { test } from 'node:test'
import { createRateLimit } from '../src/deploys/limits.ts'
import { checkSignature } from '../src/deploys/signatures.ts'
import { newHookId, projectOfHook } from '../src/deploys/webhook-settings.ts'
import { openTestApp } from './app-support.ts'

const headers = (sent: Record<string, string>) => (name: string) => sent[name.toLowerCase()] ?? null
const now = new Date('2026-03-01T10:00:00Z')

test('the signature of GitHub is that of its documentation, and none of its neighbours', () => {
  const secret = "It's a Secret to Everybody"
  const right = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'
  const check = (signature: string | null, body = 'Hello, World!', key = secret) =>
    checkSignature(
      'github',
      headers(signature === null ? {} : { 'x-hub-signature-256': signature }),
      Buffer.from(body),
      key,
      now,
    ).ok
  assert.ok(check(right))
  for (const [signature, body, key] of [
    [right, 'Hello, World', secret],
    [right, 'Hello, World!', 'another'],
    [right.slice(0, -1), 'Hello, World!', secret],
    [`${right.slice(0, -1)}8`, 'Hello, World!', secret],
    ['sha256=', 'Hello, World!', secret],
    ['', 'Hello, World!', secret],
    [null, 'Hello, World!', secret],
  ] as const)
    assert.ok(!check(signature, body, key), `${signature} ${body} ${key}`)
})

test('Gitea and Forgejo sign with plain digits, each under its own header', () => {
  const body = Buffer.from('{"ref": "refs/heads/main"}')
  const hex = createHmac('sha256', 'key').update(body).digest('hex')
  assert.ok(checkSignature('gitea', headers({ 'x-gitea-signature': hex }), body, 'key', now).ok)
  assert.ok(checkSignature('forgejo', headers({ 'x-forgejo-signature': hex }), body, 'key', now).ok)
  assert.ok(!checkSignature('forgejo', headers({ 'x-gitea-signature': hex }), body, 'key', now).ok)
  assert.ok(!checkSignature('gitea', headers({ 'x-gitea-signature': hex.slice(2) }), body, 'key', now).ok)
})

test('GitLab sends the secret, or signs by Standard Webhooks; what is old is refused', () => {
  const token = checkSignature('gitlab', headers({ 'x-gitlab-token': 'key' }), Buffer.from('{}'), 'key', now)
  assert.deepEqual(token, { ok: true, signed: false })
  assert.ok(!checkSignature('gitlab', headers({ 'x-gitlab-token': 'kez' }), Buffer.from('{}'), 'key', now).ok)
  assert.ok(!checkSignature('gitlab', headers({}), Buffer.from('{}'), 'key', now).ok)
  // The example of the specification.
  const signed = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const body = Buffer.from('{"test": 2432232314}')
  const at = (seconds: number) => new Date((1614265330 + seconds) * 1000)
  assert.deepEqual(checkSignature('gitlab', headers(signed), body, secret, at(10)), { ok: true, signed: true })
  const old = checkSignature('gitlab', headers(signed), body, secret, at(301))
  assert.match(old.ok ? '' : old.reason, /five minutes/)
  assert.ok(!checkSignature('gitlab', headers({ ...signed, 'webhook-id': 'msg_2' }), body, secret, at(10)).ok)
  // A wrong signature is not saved by a header with the secret.
  const both = headers({ ...signed, 'webhook-signature': 'v1,AAAA', 'x-gitlab-token': secret })
  assert.ok(!checkSignature('gitlab', both, body, secret, at(10)).ok)
})

test('the id of a hook names its project, and nothing else is one', () => {
  const id = newHookId('prj_01kq3z8v5m')
  assert.equal(projectOfHook(id), 'prj_01kq3z8v5m')
  assert.notEqual(id, newHookId('prj_01kq3z8v5m'))
  for (const other of ['', 'prj_01kq3z8v5m', `${id}0`, id.toUpperCase(), `../${id}`])
    assert.equal(projectOfHook(other), null)
})

test('only so many in a minute, of each', () => {
  let time = now.getTime()
  const limit = createRateLimit(2, () => new Date(time))
  limit.take('a')
  limit.take('a')
  limit.take('b')
  assert.throws(() => limit.take('a'), { code: 'throttled' })
  assert.throws(() => limit.look('a'), { code: 'throttled' })
  time += 60_000
  limit.take('a')
})

test('deliveries: what is signed, new and of the branch is deployed, once; the rest says why not', async (t) => {
  const { call, app, session } = await openTestApp(t)
  const cookie = await session()
  const as = { headers: cookie }
  await call('createProject', { body: { name: 'Shop', start: false }, query: { wait: '10' }, ...as })
  const shop = { id: 'shop' }
  const { path, id: project } = (await app.store.projects.find('shop'))!
  const { uid, gid } = await stat(path)
  execFileSync('git', ['init', '--quiet', '--initial-branch=main'], {
    cwd: path,
    env: { PATH: process.env.PATH, HOME: '/nonexistent' },
    uid,
    gid,
  })
  const put = await call('putGitWebhook', { params: shop, body: { enabled: true }, ...as })
  assert.equal(put.status, 200, put.body)
  const { secret, address } = put.json
  const hook = address.split('/').at(-1)
  assert.equal((await call('getGitWebhook', { params: shop, ...as })).json.secret, undefined)
  const body = (after: string, more: object = {}) => ({
    ref: 'refs/heads/main',
    before: '0'.repeat(40),
    after,
    ...more,
  })
  const deliver = async (
    payload: object,
    id: string,
    event = 'push',
    key = secret,
    more: Record<string, string> = {},
  ) => {
    const text = JSON.stringify(payload)
    return call('receivePush', {
      params: { hook },
      body: payload,
      headers: {
        'x-github-event': event,
        'x-github-delivery': id,
        'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(text).digest('hex')}`,
        ...more,
      },
    })
  }
  const ping = await deliver({ zen: 'Design for failure.', hook_id: 1 }, 'ping-1', 'ping')
  assert.deepEqual([ping.status, ping.json.outcome], [200, 'ignored'])
  assert.equal((await deliver(body('1'.repeat(40)), 'x', 'push', 'wrong')).status, 403)
  const answers = await Promise.all(
    ['d1', 'd1', 'd1', 'd2', 'd3'].map((id, at) =>
      deliver(body('1'.repeat(40), { pushed_at: id === 'd1' ? 0 : at }), id),
    ),
  )
  assert.deepEqual(answers.map(({ json }) => json.outcome).sort(), [
    'accepted',
    'accepted',
    'accepted',
    'replayed',
    'replayed',
  ])
  const replayed = await deliver(body('1'.repeat(40), { pushed_at: 0 }), 'another-id')
  assert.equal(replayed.json.outcome, 'replayed', 'the same signed body under another id')
  for (const [payload, event] of [
    [body('2'.repeat(40), { ref: 'refs/tags/v1' }), 'push'],
    [body('2'.repeat(40), { ref: 'refs/heads/other' }), 'push'],
    [body('0'.repeat(40)), 'push'],
    [body('2'.repeat(40), { ref: 7 }), 'push'],
    [body('not a commit'), 'push'],
    [{ action: 'opened' }, 'issues'],
  ] as const) {
    const { json } = await deliver(payload, JSON.stringify(payload).slice(0, 90), event)
    assert.deepEqual([json.outcome, typeof json.reason], ['ignored', 'string'], JSON.stringify(payload))
  }
  // There is no remote, so each fails; and of those that came while one ran only the newest had its turn.
  const states = async () => (await app.store.deploys.list({ project, limit: 10 })).map(({ state }) => state)
  while ((await states()).some((state) => state === 'waiting' || state === 'running'))
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal((await states()).length, 3)
  assert.ok(
    (await states()).every((state) => state === 'failed' || state === 'superseded'),
    String(await states()),
  )
  assert.equal((await states())[0], 'failed')
  await call('putGitWebhook', { params: shop, body: { enabled: false }, ...as })
  const off = await deliver(body('3'.repeat(40)), 'd9')
  assert.match(off.json.reason, /switched off/)
  const next = (await call('putGitWebhook', { params: shop, body: { enabled: true, newSecret: true }, ...as })).json
  assert.notEqual(next.secret, secret)
  assert.equal(next.address, address)
  const before = await deliver(body('4'.repeat(40)), 'd10')
  assert.equal(before.json.code, 'signature_invalid')
  assert.equal((await call('receivePush', { params: { hook: `${hook.slice(0, -1)}x` }, body: {} })).status, 404)
})

test('who guesses secrets is refused for a while, and settings that cannot be are told', async (t) => {
  const { call, session } = await openTestApp(t)
  const as = { headers: await session() }
  await call('createProject', { body: { name: 'Shop', start: false }, query: { wait: '10' }, ...as })
  const shop = { id: 'shop' }
  const { address } = (await call('putGitWebhook', { params: shop, body: { enabled: true }, ...as })).json
  const hook = address.split('/').at(-1)
  const guess = () =>
    call('receivePush', {
      params: { hook },
      body: {},
      headers: { 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': 'no' },
    })
  const codes = []
  for (let at = 0; at < 22; at += 1) codes.push((await guess()).status)
  assert.deepEqual([codes[0], codes[19], codes.at(-1)], [403, 403, 429])
  assert.equal(
    (await call('getGitWebhook', { params: shop, ...as })).json.refused.reason,
    'X-Gitlab-Token is not the secret of this webhook.',
  )
  for (const body of [{ branch: 'a..b' }, { watch: { every: '5 minutes' } }, { manner: 'merge' }, { enabledd: true }])
    assert.equal((await call('putGitWebhook', { params: shop, body, ...as })).status, 422, JSON.stringify(body))
  assert.equal((await call('createDeploy', { params: shop, ...as })).status, 404)
})
