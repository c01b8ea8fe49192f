import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { DeployPage } from '@stackquay/contract'
import { byTheService, newId } from '@stackquay/store'
import { waitFor } from '@stackquay/testkit'
import type { z } from 'zod'
import { createRefusedDeliveries } from '../src/deploys/refused-deliveries.ts'
import { type OperationAnswer, openTestApp, type PlanAnswer } from './projects-support.ts'

const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`
const manifest = '{"name": "shop", "private": true, "dependencies": {"left": "1.0.0"}}\n'

/** A project with a repository of its own, whose lock file is not committed, and a deploy of its first commit. */
async function openShop(t: TestContext, engine: 'native' | 'docker') {
  const app = await openTestApp(t, { images: true })
  const node = { preset: 'generic', command: ['node', 'server.js'] }
  const made = await app.ask('POST', '/projects?wait=30', { name: 'Shop', engine, node, start: false })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { path, id } = made.body
  const { uid, gid } = statSync(path)
  const git = (...args: string[]) => {
    const env = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' }
    const ada = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com']
    return execFileSync('git', [...ada, ...args], { cwd: path, env, uid, gid, encoding: 'utf8' }).trim()
  }
  const write = (name: string, text: string) => {
    writeFileSync(join(path, name), text)
    chownSync(join(path, name), uid, gid)
  }
  const commit = (files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) write(name, text)
    git('add', '--all')
    git('commit', '--quiet', '--message', 'A change')
    return git('rev-parse', 'HEAD')
  }
  git('init', '--quiet', '--initial-branch=main')
  write('package-lock.json', 'one')
  const first = commit({ '.gitignore': 'package-lock.json\n', 'package.json': manifest, 'server.js': 'one' })
  const started = await app.ask<OperationAnswer>('POST', '/projects/shop/start?wait=30')
  assert.equal(started.body.state, 'succeeded', JSON.stringify(started.body.error))
  const known = newId('dpl')
  await app.store.transaction(async (tx) => {
    const asked = { trigger: 'push', actor: 'webhook', forge: null, branch: 'main', operation: null } as const
    await tx.deploys.insert({ id: known, project: id, state: 'running', commit: first, ...asked })
    await tx.deploys.update(known, { state: 'succeeded' })
  })
  const back = async (deploy: string) => {
    const { status, body } = await app.ask<OperationAnswer>('POST', '/projects/shop/git/rollback?wait=60', { deploy })
    assert.deepEqual([status, body.state], [200, 'succeeded'], JSON.stringify(body))
    const { body: page } = await app.ask<z.infer<typeof DeployPage>>('GET', '/projects/shop/git/deploys')
    return { operation: body, deploy: page.items[0]! }
  }
  const plan = async (deploy: string) => {
    const asked = await app.ask<PlanAnswer>('POST', '/projects/shop/git/rollback?dryRun=true', { deploy })
    assert.equal(asked.status, 200, JSON.stringify(asked.body))
    return asked.body.plan
  }
  return { ...app, id, first, known, write, commit, git, back, plan }
}

test('a release has the build that runs and the files that were installed; a way back says what moved since', async (t) => {
  const shop = await openShop(t, 'docker')
  const image = () => shop.engine.machine.workloads.get(`${shop.id}/node`)?.image
  const { deploy: one } = await shop.back(shop.known)
  assert.deepEqual(one.release, {
    generation: 1,
    installedFrom: { 'package-lock.json': sha256('one'), 'package.json': sha256(manifest) },
    images: { node: image()!.id },
    runtimes: {},
  })
  assert.equal(one.reason, 'Nothing was new.')

  // What the commit brings back itself is no difference.
  shop.commit({ 'server.js': 'two', 'package.json': manifest.replace('1.0.0', '2.0.0') })
  shop.write('package-lock.json', 'two')
  const was = image()!
  const newer = shop.engine.machine.images.publish(was.reference)
  await shop.ask('POST', '/projects/shop/restart?wait=30', { newerImages: true })
  assert.equal(image()?.id, newer)
  const short = (id: string) => id.slice('sha256:'.length).slice(0, 12)
  const differences = [
    `node runs from the build ${short(newer)}, not ${short(was.id)}.`,
    'package-lock.json has another content.',
  ]
  const plan = await shop.plan(one.id)
  assert.deepEqual(plan.warnings, [...differences.map((text) => `Not as then: ${text}`), 'No data goes back.'])
  assert.deepEqual(plan.restarts, ['node'])
  assert.notEqual(shop.git('rev-parse', 'HEAD'), shop.first, 'a plan moves nothing')
  const { deploy: two, operation } = await shop.back(one.id)
  assert.equal(shop.git('rev-parse', 'HEAD'), shop.first)
  assert.equal(two.reason, `Not as with ${one.id}: ${differences.join(' ')}`)
  assert.deepEqual(operation.steps.find(({ id }) => id === 'well')?.output, [
    ...differences.map((text) => `Not as then: ${text}`),
    'It is well.',
  ])
  assert.deepEqual([two.release?.images.node, one.release?.images.node], [newer, was.id])
})

test('without images it has the versions of programs; of a deploy of before nothing is told that nobody knows', async (t) => {
  const shop = await openShop(t, 'native')
  const before = await shop.plan(shop.known)
  assert.deepEqual(before.warnings, ['It was not written down what this commit ran with.', 'No data goes back.'])
  const { deploy } = await shop.back(shop.known)
  assert.deepEqual(deploy.release?.images, {})
  assert.match(deploy.release?.runtimes.node ?? '', /^\d+\.1$/)
  const stopped = await shop.ask<OperationAnswer>('POST', '/projects/shop/stop?wait=30')
  assert.equal(stopped.body.state, 'succeeded')
  shop.commit({ 'server.js': 'three' })
  const { deploy: asleep } = await shop.back(shop.known)
  assert.deepEqual(asleep.release, { generation: 1, installedFrom: {}, images: {}, runtimes: {} })
  const missing = await shop.ask('POST', '/projects/shop/git/rollback?dryRun=true', { deploy: 'dpl_none' })
  assert.equal(missing.status, 404)
})

test('a refused delivery stands in the audit log once a minute, with how many more, and outlives a restart', async (t) => {
  const app = await openTestApp(t)
  await app.ask('POST', '/projects?wait=30', { name: 'Shop', start: false })
  const shown = (
    await app.ask<{ address: string; refused: { reason: string } | null }>('PUT', '/projects/shop/git/webhook', {
      enabled: true,
    })
  ).body
  assert.equal(shown.refused, null)
  const guess = async (open: typeof app, from: string) => {
    const answer = await open.app.http.inject({
      method: 'POST',
      url: new URL(shown.address).pathname,
      headers: { host: 'localhost', 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': from },
      payload: {},
    })
    assert.equal(answer.statusCode, 403, answer.body)
  }
  for (let at = 0; at < 7; at += 1) await guess(app, `no ${at}`)
  const denied = async (store: typeof app.store) =>
    (await store.audit.list({ limit: 50, action: 'project.git.push_received', outcome: 'denied' })).toReversed()
  const [entry, ...more] = await denied(app.store)
  assert.deepEqual(more, [])
  const detail = 'X-Gitlab-Token is not the secret of this webhook.'
  assert.deepEqual([entry?.target, entry?.changes], ['shop', { reason: 'signature_invalid', detail }])

  const again = await app.reopen()
  const entries = await denied(again.store)
  assert.deepEqual(
    entries.map(({ changes }) => changes),
    [
      { reason: 'signature_invalid', detail },
      { reason: 'signature_invalid', detail, furtherRefusals: 6 },
    ],
  )
  const refused = async () =>
    (await again.ask<{ refused: { reason: string } | null }>('GET', '/projects/shop/git/webhook')).body.refused
  assert.equal((await refused())?.reason, detail)
  await again.ask('PUT', '/projects/shop/git/webhook', { newSecret: true })
  assert.equal(await refused(), null)
})

test('what is refused within the minute is one entry at its end, which shows nothing of a secret of before', async (t) => {
  const { ask, store } = await openTestApp(t)
  const { id, slug } = (await ask('POST', '/projects?wait=30', { name: 'Shop', start: false })).body
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const refusals = createRefusedDeliveries({ store, now: () => new Date(0), onError, minuteMs: 3000 })
  const context = { audit: (entry: object) => ({ ...byTheService({ action: '' }), ...entry }) } as never
  const counts = async () =>
    (await store.audit.list({ limit: 50, action: 'project.git.push_received' }))
      .map(({ changes }) => (changes as { furtherRefusals?: number }).furtherRefusals ?? 0)
      .toReversed()
  await Promise.all(['a', 'b', 'c'].map((reason) => refusals.record({ id, slug }, reason, context)))
  assert.deepEqual([await counts(), (await refusals.last(id))?.reason], [[0], 'c'])
  await store.transaction((tx) => tx.deploys.putRefused(id, null))
  refusals.forget(id)
  assert.equal(await refusals.last(id), null)
  await waitFor('the entry of the minute', async () => (await counts()).length === 2, { timeoutMs: 30_000 })
  assert.deepEqual([await counts(), await refusals.last(id)], [[0, 2], null])
  await refusals.record({ id, slug }, 'd', context)
  await store.transaction((tx) => tx.projects.delete(id))
  await refusals.close()
  assert.deepEqual(errors, [])
  assert.deepEqual(await counts(), [0, 2, 1])
})
