import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChangedError, type NewTrashItem, type Store, TakenError } from '../src/index.ts'
import { newProject, tempStore } from './temp-store.ts'

const itemOf = (project: string, changes: Partial<NewTrashItem> = {}): NewTrashItem => ({
  id: 'trs_1',
  kind: 'project',
  project,
  slug: 'shop',
  projectName: 'Shop',
  name: 'shop',
  engine: 'native',
  operation: null,
  data: [{ name: 'redis', sizeBytes: 12 }],
  deletedAt: '2026-01-01T00:00:00.000Z',
  deletedBy: 'ada',
  purgeAt: '2026-01-31T00:00:00.000Z',
  database: null,
  secrets: [],
  ...changes,
})

const textsOf = async (store: Store, project: string) => {
  const texts: Record<string, string> = {}
  for (const [name, { secret, version }] of Object.entries(await store.secrets.of(project)))
    texts[`${name} ${secret} ${version}`] = (await store.secrets.reveal(secret, version)).expose()
  return texts
}

async function withProject(t: Parameters<typeof tempStore>[0]) {
  const opened = await tempStore(t)
  const { store } = opened
  const project = newProject('shop')
  await store.transaction(async (tx) => {
    await tx.projects.insert(project)
    await tx.secrets.put(project.id, 'env/KEY', 'first')
    await tx.secrets.put(project.id, 'env/KEY', 'second')
    await tx.secrets.put(project.id, 'service/redis/password', 'old')
    await tx.ports.lease(project.id, 'redis', 'redis', [20_001])
    await tx.network.addDomain({ host: 'shop.example.org', project: project.id, workload: null })
    await tx.keptData.writtenBy(project.id, 'redis', '8.0')
    await tx.keptData.setKept(project.id, 'redis', true)
  })
  return { ...opened, id: project.id }
}

test('a project leaves its tables with all that is known of it, and comes back as it was', async (t) => {
  const { store, id } = await withProject(t)
  const before = {
    row: await store.projects.find(id),
    texts: await textsOf(store, id),
    ports: await store.ports.of(id),
    domains: await store.network.domains(id),
    kept: await store.keptData.of(id),
  }
  await store.transaction(async (tx) => {
    await tx.trash.add(itemOf(id))
    await tx.trash.takeProject('trs_1')
  })
  assert.equal(await store.projects.find(id), null)
  assert.deepEqual(
    [
      await store.secrets.of(id),
      await store.ports.of(id),
      await store.network.domains(id),
      await store.keptData.of(id),
    ],
    [{}, [], [], []],
  )
  const item = await store.trash.find('trs_1')
  assert.deepEqual([item?.state, item?.hosts, item?.path], ['kept', ['shop.example.org'], before.row?.path])
  assert.deepEqual(await store.checkIntegrity(), [])

  await store.transaction((tx) => tx.trash.returnProject('trs_1', { slug: 'shop', withoutHosts: [] }))
  const after = await store.projects.find(id)
  const same = ['id', 'slug', 'spec', 'engine', 'generation', 'path', 'source', 'createdAt'] as const
  for (const field of same) assert.deepEqual(after?.[field], before.row?.[field], field)
  assert.deepEqual([after?.desired, after?.phase], ['stopped', 'ready'])
  assert.deepEqual(await textsOf(store, id), before.texts)
  assert.deepEqual(await store.ports.of(id), before.ports)
  assert.deepEqual(await store.network.domains(id), before.domains)
  assert.deepEqual(await store.keptData.of(id), before.kept)
  assert.deepEqual([await store.trash.all(), await store.checkIntegrity()], [[], []])
})

test('a taken slug or host name leaves everything in the trash; a taken port is left out', async (t) => {
  const { store, id } = await withProject(t)
  await store.transaction(async (tx) => {
    await tx.trash.add(itemOf(id))
    await tx.trash.takeProject('trs_1')
    const other = { ...newProject('shop'), id: 'prj_other' }
    await tx.projects.insert(other)
    await tx.network.addDomain({ host: 'shop.example.org', project: other.id, workload: null })
    await tx.ports.lease(other.id, 'node', 'http', [20_001])
  })
  const back = (slug: string, withoutHosts: string[]) =>
    store.transaction((tx) => tx.trash.returnProject('trs_1', { slug, withoutHosts }))
  await assert.rejects(back('shop', []), TakenError)
  await assert.rejects(back('shop-2', []), TakenError)
  assert.deepEqual([(await store.trash.all()).length, await store.secrets.of(id)], [1, {}])
  await back('shop-2', ['shop.example.org'])
  assert.deepEqual([(await store.projects.find('shop-2'))?.id, await store.ports.of(id)], [id, []])
  assert.equal((await store.projects.list({ limit: 5, q: 'shop-2' })).length, 1)
})

test('data takes its own secrets along and no others, and brings them back in place of those that came since', async (t) => {
  const { store, id } = await withProject(t)
  const before = await textsOf(store, id)
  await store.transaction(async (tx) => {
    await tx.trash.add(itemOf(id, { kind: 'service', name: 'redis', secrets: ['service/redis/password'] }))
    await tx.trash.takeData('trs_1')
    await tx.secrets.put(id, 'service/redis/password', 'new')
    await tx.secrets.put(id, 'service/redis/password', 'newer')
  })
  assert.deepEqual(Object.keys(await store.secrets.of(id)), ['env/KEY', 'service/redis/password'])
  assert.deepEqual(await store.keptData.of(id), [])
  await store.transaction((tx) => tx.trash.returnData('trs_1'))
  assert.deepEqual(await textsOf(store, id), before)
  assert.equal((await store.keptData.of(id))[0]?.version, '8.0')
})

test('a state is only left from where it is; secrets go with their item', async (t) => {
  const { store, id } = await withProject(t)
  await store.transaction((tx) => tx.trash.add(itemOf(id)))
  const set = (from: 'moving' | 'kept', to: 'purging' | 'restoring') =>
    store.transaction((tx) => tx.trash.setState('trs_1', [from], to))
  await assert.rejects(set('kept', 'purging'), ChangedError)
  await store.transaction((tx) => tx.trash.takeProject('trs_1'))
  const outcomes = await Promise.allSettled([set('kept', 'purging'), set('kept', 'restoring')])
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  await store.transaction((tx) => tx.trash.delete('trs_1'))
  await assert.rejects(set('kept', 'purging'), ChangedError)
  assert.deepEqual([await store.trash.all(), await store.checkIntegrity()], [[], []])
})

test('the environment of a branch keeps its pull request, and what became of that meanwhile', async (t) => {
  const { store, id } = await withProject(t)
  const parent = await store.transaction((tx) => tx.projects.insert({ ...newProject('parent'), id: 'prj_parent' }))
  const pullRequest = {
    number: 7,
    title: 'x',
    url: null,
    forge: 'github',
    fork: false,
    head: 'a',
    waiting: null,
  } as const
  const row = { parent: parent.id, branch: 'cart', actor: 'webhook', seenCommit: 'b', goneAt: 'then', warning: 'gone' }
  await store.transaction((tx) => tx.branches.put({ ...row, project: id, pullRequest }))
  const away = () =>
    store.transaction(async (tx) => {
      await tx.trash.add(itemOf(id))
      await tx.trash.takeProject('trs_1')
    })
  const back = () => store.transaction((tx) => tx.trash.returnProject('trs_1', { slug: 'shop', withoutHosts: [] }))
  await away()
  assert.deepEqual(await store.branches.of(parent.id), [])
  await store.transaction(async (tx) => {
    await tx.trash.endPullRequest('prj_other', 7)
    await tx.trash.endPullRequest(parent.id, 8)
  })
  await back()
  const found = await store.branches.find(parent.id, 'cart')
  assert.deepEqual([found?.project, found?.pullRequest, found?.actor], [id, pullRequest, 'webhook'])
  assert.deepEqual([found?.seenCommit, found?.goneAt, found?.warning], [null, null, null], 'what was seen counts anew')
  await away()
  await store.transaction((tx) => tx.trash.endPullRequest(parent.id, 7))
  assert.equal((await store.trash.find('trs_1'))?.state, 'kept')
  await back()
  assert.equal((await store.branches.find(parent.id, 'cart'))?.pullRequest?.closed, true)
  // Another environment of the branch, or no project any more: it comes back as a project like any other.
  await away()
  await store.transaction((tx) => tx.branches.put({ ...row, project: null, pullRequest: null }))
  await back()
  assert.equal((await store.branches.find(parent.id, 'cart'))?.project, null)
  await away()
  await store.transaction((tx) => tx.projects.delete(parent.id))
  await back()
  assert.deepEqual([(await store.projects.find(id))?.slug, await store.branches.all()], ['shop', []])
  assert.deepEqual(await store.checkIntegrity(), [])
})
