import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChangedError, newId, TakenError } from '../src/index.ts'
import { newProject, spec, tempStore } from './temp-store.ts'

test('a project is found by id and by slug as it was written', async (t) => {
  const { store } = await tempStore(t)
  const project = newProject('shop', { source: { kind: 'git', url: 'https://git.test/shop', branch: null } })
  const written = await store.transaction((tx) => tx.projects.insert(project))
  const time = '2026-01-01T00:00:00.000Z'
  assert.deepEqual(written, {
    ...project,
    generation: 1,
    observedGeneration: 1,
    heldSpec: null,
    revision: 1,
    asleep: null,
    lastUsedAt: null,
    stateSince: time,
    createdAt: time,
    updatedAt: time,
  })
  assert.deepEqual(await store.projects.find(project.id), written)
  assert.deepEqual(await store.projects.find('shop'), written)
  assert.equal(await store.projects.find('other'), null)
})

test('a slug that is held is refused with its holder', async (t) => {
  const { store } = await tempStore(t)
  const first = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  await assert.rejects(
    store.transaction((tx) => tx.projects.insert(newProject('shop'))),
    (error: unknown) => error instanceof TakenError && error.what === 'slug' && error.holder === first.id,
  )
})

test('a renamed project is found by both slugs, which nobody else gets until the time of the former is over', async (t) => {
  const { store } = await tempStore(t)
  const { id } = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  const other = await store.transaction((tx) => tx.projects.insert(newProject('other')))
  const until = '2026-02-01T00:00:00.000Z'
  const renamed = await store.transaction((tx) => tx.projects.rename(id, 'shop', 'store', until))
  assert.deepEqual([renamed.slug, renamed.generation, renamed.revision], ['store', 1, 2])
  for (const slug of ['shop', 'store', id]) assert.equal((await store.projects.find(slug))?.slug, 'store')
  assert.deepEqual(
    (await store.projects.list({ limit: 10, q: 'store' })).map(({ id }) => id),
    [id],
  )
  const isHeld = (error: unknown) => error instanceof TakenError && error.holder === id
  for (const slug of ['shop', 'store']) {
    await assert.rejects(
      store.transaction((tx) => tx.projects.insert(newProject(slug))),
      isHeld,
    )
    await assert.rejects(
      store.transaction((tx) => tx.projects.rename(other.id, 'other', slug, null)),
      isHeld,
    )
  }
  await assert.rejects(
    store.transaction((tx) => tx.projects.rename(id, 'shop', 'third', null)),
    ChangedError,
  )
  const expire = (at: string) => store.transaction((tx) => tx.network.expireFormerSlugs(at))
  assert.deepEqual(await expire('2026-01-31T23:59:59.999Z'), [])
  assert.deepEqual(await expire(until), [id])
  assert.equal(await store.projects.find('shop'), null)
  await store.transaction((tx) => tx.projects.insert(newProject('shop')))
})

test('a project that gets its former slug back frees the other one or keeps it, and keeps five at most', async (t) => {
  const { store } = await tempStore(t)
  const { id } = await store.transaction((tx) => tx.projects.insert(newProject('a')))
  const rename = (from: string, to: string, day: number | null) =>
    store.transaction((tx) => tx.projects.rename(id, from, to, day === null ? null : `2026-02-0${day}T00:00:00.000Z`))
  const former = async () => (await store.network.formerSlugs(id)).map(({ slug }) => slug)
  await rename('a', 'b', 1)
  await rename('b', 'a', 2)
  assert.deepEqual(await former(), ['b'])
  await rename('a', 'b', null)
  assert.deepEqual(await former(), [])
  for (const [at, slug] of [...'cdefgh'].entries()) await rename([...'bcdefg'][at]!, slug, at + 1)
  assert.deepEqual(await former(), ['g', 'f', 'e', 'd', 'c'])
  await store.transaction((tx) => tx.projects.delete(id))
  assert.deepEqual(await store.network.allFormerSlugs(), [])
})

test('the generation counts changes of the specification, the revision counts writes', async (t) => {
  const { store, clock } = await tempStore(t)
  const { id } = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  const numbers = async (act: Parameters<typeof store.transaction>[0]) => {
    await store.transaction(act)
    const row = await store.projects.find(id)
    return [row?.generation, row?.revision]
  }
  assert.deepEqual(await numbers((tx) => tx.projects.update(id, 1, { spec: spec('Shop two') })), [2, 2])
  // The same specification with its fields in another order is no change.
  const turned = Object.fromEntries(Object.entries(spec('Shop two')).reverse()) as ReturnType<typeof spec>
  assert.deepEqual(await numbers((tx) => tx.projects.update(id, 2, { spec: turned })), [2, 3])
  assert.deepEqual(await numbers((tx) => tx.projects.update(id, 2, { desired: 'running' })), [2, 4])
  clock.pass(5000)
  const stateSince = clock.now().toISOString()
  assert.deepEqual(
    await numbers((tx) => tx.projects.setLifecycle(id, { phase: 'deleting', source: null, stateSince })),
    [2, 5],
  )
  const row = await store.projects.find(id)
  assert.deepEqual(
    [row?.spec.name, row?.desired, row?.phase, row?.source, row?.stateSince, row?.updatedAt],
    ['Shop two', 'running', 'deleting', null, stateSince, stateSince],
  )
  await assert.rejects(
    store.transaction((tx) => tx.projects.update(id, 1, { desired: 'stopped' })),
    ChangedError,
  )
  await assert.rejects(
    store.transaction((tx) => tx.projects.update('prj_gone', 1, {})),
    ChangedError,
  )
  await assert.rejects(
    store.transaction((tx) => tx.projects.setLifecycle('prj_gone', {})),
    ChangedError,
  )
})

test('pages follow creation and miss or repeat nobody while projects come and go', async (t) => {
  const { store, clock } = await tempStore(t)
  const ids: string[] = []
  const add = async (slug: string) => {
    clock.pass(1)
    const id = newId('prj', clock.now())
    ids.push(id)
    await store.transaction((tx) => tx.projects.insert(newProject(slug, { id })))
  }
  for (let number = 0; number < 25; number += 1) await add(`shop-${number}`)
  const seen: string[] = []
  let cursor: string | undefined
  for (let page = 0; ; page += 1) {
    const rows = await store.projects.list({ limit: 10, ...(cursor === undefined ? {} : { cursor }) })
    if (rows.length === 0) break
    seen.push(...rows.map((row) => row.id))
    cursor = seen.at(-1)
    // The project at the cursor goes, one before it goes, and a new one comes at the end.
    await store.transaction((tx) => tx.projects.delete(cursor ?? ''))
    if (page === 0) await store.transaction((tx) => tx.projects.delete(ids[2] ?? ''))
    if (page === 1) await add('late')
  }
  assert.deepEqual(seen, ids)
})

test('a list is restricted by ids and by a text in slug or name', async (t) => {
  const { store } = await tempStore(t)
  await store.transaction(async (tx) => {
    await tx.projects.insert(newProject('shop', { id: 'prj_1', spec: spec('Ärger & Co') }))
    await tx.projects.insert(newProject('blog', { id: 'prj_2', spec: spec('100% my_blog') }))
    await tx.projects.insert(newProject('wiki', { id: 'prj_3', spec: spec('Shopping list') }))
  })
  const slugs = async (options: { q?: string; ids?: readonly string[] }) =>
    (await store.projects.list({ limit: 50, ...options })).map((row) => row.slug)
  assert.deepEqual(await slugs({ q: 'SHOP' }), ['shop', 'wiki'])
  assert.deepEqual(await slugs({ q: 'ärger' }), ['shop'])
  assert.deepEqual(await slugs({ q: '0%' }), ['blog'])
  assert.deepEqual(await slugs({ q: 'y_b' }), ['blog'])
  assert.deepEqual(await slugs({ q: '_' }), ['blog'])
  assert.deepEqual(await slugs({ ids: ['prj_3', 'prj_1', 'prj_gone'] }), ['shop', 'wiki'])
  assert.deepEqual(await slugs({ ids: ['prj_3'], q: 'ärger' }), [])
  assert.deepEqual(await slugs({ ids: [] }), [])
  assert.deepEqual(await store.projects.revisions({ limit: 2, cursor: 'prj_1' }), [
    { id: 'prj_2', revision: 1 },
    { id: 'prj_3', revision: 1 },
  ])
})

test('a deleted project takes its secrets and leases along; its operations stay', async (t) => {
  const { store } = await tempStore(t)
  const { id } = await store.transaction(async (tx) => {
    const project = await tx.projects.insert(newProject('shop'))
    await tx.secrets.put(project.id, 'PASSWORD', 'hunter2')
    await tx.ports.lease(project.id, 'web', 'http', [20000])
    await tx.operations.insert({
      id: 'op_1',
      kind: 'start',
      project: project.id,
      actor: 'ada',
      input: {},
      requestId: null,
    })
    return project
  })
  const handle = await store.secrets.find(id, 'PASSWORD')
  await store.transaction((tx) => tx.projects.delete(id))
  await store.transaction((tx) => tx.projects.delete(id))
  await assert.rejects(store.secrets.reveal(handle?.secret ?? ''), /no secret/)
  assert.deepEqual(await store.ports.all(), [])
  assert.equal((await store.operations.find('op_1'))?.project, id)
  assert.deepEqual(await store.checkIntegrity(), [])
})

test('what was carried out never falls, and a change that no program notices counts with the one before it', async (t) => {
  const { store } = await tempStore(t)
  const { id, spec } = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  const change = (generation: number, next: typeof spec) =>
    store.transaction((tx) => tx.projects.update(id, generation, { spec: next }))
  const carriedOut = async (generation: number, done: typeof spec) => {
    const row = await store.transaction((tx) => tx.projects.carriedOut(id, generation, done))
    return [row.observedGeneration, row.heldSpec]
  }
  const second = { ...spec, healthCheck: { path: '/', timeoutSeconds: 5 } }
  const third = { ...second, healthCheck: { path: '/up', timeoutSeconds: 5 } }
  await change(1, second)
  assert.deepEqual((await change(2, third)).heldSpec, spec)
  assert.deepEqual(await carriedOut(2, second), [2, second])
  await change(3, { ...third, name: 'Another' })
  assert.deepEqual(await carriedOut(3, third), [4, null])
  assert.deepEqual(await carriedOut(2, second), [4, null])
})
