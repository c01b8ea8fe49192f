import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { ForgeDelivery } from '@stackquay/testkit/forge-deliveries'
import type { Called, TestApp } from './app-support.ts'

export interface Hook {
  readonly hook: string
  readonly secret: string
}

/** The webhook of a new project whose folder is a repository, with a branch beside the one that is checked out. */
export async function hookOf({ app, call, session }: TestApp, settings: object = {}): Promise<Hook> {
  const headers = await session()
  await call('createProject', { body: { name: 'shop', start: false, ...settings }, query: { wait: '10' }, headers })
  const { path } = (await app.store.projects.find('shop'))!
  const as = ['-c', 'user.name=Grace', '-c', 'user.email=grace@example.com']
  await gitIn(path, 'init', '--quiet', '--initial-branch=main')
  await gitIn(path, ...as, 'commit', '--quiet', '--allow-empty', '--message', 'Shop')
  await gitIn(path, 'branch', 'cart')
  const put = await call('putGitWebhook', { params: { id: 'shop' }, body: { enabled: true, branch: 'main' }, headers })
  assert.equal(put.status, 200, put.body)
  return { hook: put.json.address.split('/').at(-1), secret: put.json.secret }
}

/** As the user whose folder it is. */
export async function gitIn(path: string, ...args: string[]): Promise<void> {
  const { uid, gid } = await stat(path)
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' }
  execFileSync('git', args, { cwd: path, env, uid, gid })
}

export interface Manner {
  readonly key?: string
  /** Of a signature that says when it was made. */
  readonly ageSeconds?: number
  /** GitLab: the secret itself. */
  readonly plain?: boolean
}

export function deliver(
  { call }: Pick<TestApp, 'call'>,
  { hook, secret }: Hook,
  delivery: ForgeDelivery,
  manner: Manner = {},
): Promise<Called> {
  const headers = { ...delivery.headers, ...signatureOf(delivery, { key: secret, ...manner }) }
  return call('receivePush', { params: { hook }, body: delivery.payload, headers })
}

function signatureOf({ forge, headers, payload }: ForgeDelivery, { key = '', ageSeconds = 0, plain = false }: Manner) {
  const body = JSON.stringify(payload)
  const hex = createHmac('sha256', key).update(body).digest('hex')
  if (forge === 'github') return { 'x-hub-signature-256': `sha256=${hex}` }
  // Each under all the names that it sends.
  const shared = { 'x-gitea-signature': hex, 'x-gogs-signature': hex, 'x-hub-signature-256': `sha256=${hex}` }
  if (forge === 'gitea') return shared
  if (forge === 'forgejo') return { ...shared, 'x-forgejo-signature': hex }
  if (plain) return { 'x-gitlab-token': key }
  const id = headers['idempotency-key']!
  const at = String(Math.floor(Date.now() / 1000) - ageSeconds)
  const secret = Buffer.from(key.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', secret).update(`${id}.${at}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` }
}

/** Every header that names the delivery, with another name. */
export function renamed(headers: ForgeDelivery['headers'], suffix: string): ForgeDelivery['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      /-delivery$|^idempotency-key$/.test(name) ? `${value}-${suffix}` : value,
    ]),
  )
}
