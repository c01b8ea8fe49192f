import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openStore } from '../src/index.ts'
import { migrations } from '../src/migrations/index.ts'
import { newProject, tempFile, tempStore } from './temp-store.ts'

const deploy = (project: string, id = 'dpl_1') =>
  ({
    id,
    project,
    trigger: 'push',
    actor: 'webhook',
    forge: null,
    state: 'running',
    branch: 'main',
    commit: 'a'.repeat(40),
    operation: null,
  }) as const
const release = {
  generation: 3,
  installedFrom: { 'package-lock.json': 'sha256:1', constructor: 'sha256:2' },
  images: { web: 'sha256:3' },
  runtimes: {},
}

test('a deploy keeps its release whole, over a restart; other changes leave it', async (t) => {
  const { store, options } = await tempStore(t)
  const { id: project } = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  const made = await store.transaction((tx) => tx.deploys.insert(deploy(project)))
  assert.equal(made.release, null)
  await store.transaction((tx) => tx.deploys.update('dpl_1', { state: 'succeeded', release }))
  await store.transaction((tx) => tx.deploys.update('dpl_1', { reported: '' }))
  await store.close()
  const again = await openStore(options)
  t.after(() => again.close())
  assert.deepEqual((await again.deploys.find('dpl_1'))?.release, release)
  const cleared = await again.transaction((tx) => tx.deploys.update('dpl_1', { release: null }))
  assert.equal(cleared?.release, null)
})

test('the last refused delivery of a project takes the place of the one before, and goes with the project', async (t) => {
  const { store } = await tempStore(t)
  const { id: project } = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  assert.equal(await store.deploys.refused(project), null)
  const first = { at: '2026-01-01T00:00:00.000Z', reason: 'one' }
  await store.transaction((tx) => tx.deploys.putRefused(project, first))
  await store.transaction((tx) => tx.deploys.putRefused(project, { ...first, reason: 'two' }))
  assert.deepEqual(await store.deploys.refused(project), { ...first, reason: 'two' })
  await store.transaction((tx) => tx.deploys.putRefused(project, null))
  assert.equal(await store.deploys.refused(project), null)
  await store.transaction((tx) => tx.deploys.putRefused(project, first))
  await store.transaction((tx) => tx.projects.delete(project))
  assert.equal(await store.deploys.refused(project), null)
  assert.deepEqual(await store.checkIntegrity(), [])
})

test('deploys of a home from before there were releases have none, and get one', async (t) => {
  const file = tempFile(t)
  const before = migrations.slice(
    0,
    migrations.findIndex(({ name }) => name === 'releases of deploys, and refused deliveries'),
  )
  assert.equal(before.length, 29)
  const options = { file, sealingKey: { id: 'key_a', key: Buffer.alloc(32, 7) }, clock: { now: () => new Date(0) } }
  await (await openStore({ ...options, migrations: before })).close()
  const raw = new DatabaseSync(file)
  raw.exec(`insert into projects (id, slug, desired, phase, path, generation, revision, state_since, created_at, updated_at,
    search, spec) values ('prj_1', 'shop', 'stopped', 'ready', '/srv/shop', 1, 1, '', '', '', 'shop', '{}')`)
  raw.exec(`insert into deploys (id, project, trigger_kind, actor, state, commit_id, rolled_back, created_at)
    values ('dpl_1', 'prj_1', 'push', 'webhook', 'succeeded', 'abc', 0, '')`)
  raw.exec(`insert into git_deliveries (project, seq, id, at, forge, event, outcome)
    values ('prj_1', 1, 'one', '', 'github', 'pull_request', 'ignored')`)
  raw.close()
  const store = await openStore(options)
  t.after(() => store.close())
  const found = await store.deploys.find('dpl_1')
  assert.deepEqual([found?.commit, found?.state, found?.release], ['abc', 'succeeded', null])
  assert.deepEqual(await store.deploys.pendingPullRequests(), [])
  await store.transaction((tx) => tx.deploys.insert(deploy('prj_1', 'dpl_2')))
  await store.transaction((tx) => tx.deploys.update('dpl_2', { release }))
  assert.deepEqual((await store.deploys.find('dpl_2'))?.release, release)
  assert.deepEqual(await store.checkIntegrity(), [])
})

test('a pull request of a delivery is pending until it is settled, in the order in which it came, over a restart', async (t) => {
  const { store, options } = await tempStore(t)
  const { id: project } = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  const delivery = { forge: 'github', event: 'pull_request', ref: null, commit: null, outcome: 'accepted' } as const
  const more = { project, digest: null, reason: 'one', deploy: null }
  for (const id of ['first', 'second', 'third'])
    await store.transaction((tx) =>
      tx.deploys.insertDelivery({
        ...{ ...delivery, ...more, id },
        pending: id === 'third' ? null : { act: 'close', number: id === 'first' ? 1 : 2 },
      }),
    )
  await store.close()
  const again = await openStore(options)
  t.after(() => again.close())
  const pending = async () => (await again.deploys.pendingPullRequests(project)).map(({ id, pending }) => [id, pending])
  assert.deepEqual(await pending(), [
    ['first', { act: 'close', number: 1 }],
    ['second', { act: 'close', number: 2 }],
  ])
  const settle = (id: string, reason: string) =>
    again.transaction((tx) => tx.deploys.settleDelivery({ project, id }, { outcome: 'ignored', reason, deploy: null }))
  await settle('first', 'done')
  await settle('first', 'done twice')
  assert.deepEqual(
    (await pending()).map(([id]) => id),
    ['second'],
  )
  const reasons = (await again.deploys.deliveries(project, 5)).map(({ id, reason }) => `${id} ${reason}`)
  assert.deepEqual(reasons, ['third one', 'second one', 'first done'])
})
