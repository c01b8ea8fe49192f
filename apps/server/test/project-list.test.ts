import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptySpec } from '@stackquay/domain'
import { newId, openStore, type Store } from '@stackquay/store'
import type { Model } from '../src/projects/model.ts'
import { createProjectList } from '../src/projects/project-list.ts'

test('a page is the very same bytes until something is written or a status changes', async (t) => {
  const { store, list, status } = await listOver(t)
  await addProject(store, 'one')
  // Getting to know a new row is a change in itself.
  await list({ limit: 50 })
  const first = await list({ limit: 50 })
  assert.equal(await list({ limit: 50 }), first)

  await addProject(store, 'two')
  const second = await list({ limit: 50 })
  assert.equal(slugsIn(second), 'one: stopped, two: stopped')

  status.become('running')
  assert.equal(slugsIn(await list({ limit: 50 })), 'one: running, two: running')
})

test('pages of other sizes and cursors are pages of their own', async (t) => {
  const { store, list } = await listOver(t)
  for (const slug of ['one', 'two', 'three']) await addProject(store, slug)
  const page = JSON.parse((await list({ limit: 2 })).toString())
  assert.equal(slugsIn(await list({ limit: 2 })), 'one: stopped, two: stopped')
  assert.equal(slugsIn(await list({ limit: 2, cursor: page.nextCursor })), 'three: stopped')
  assert.equal(slugsIn(await list({ limit: 50 })), 'one: stopped, two: stopped, three: stopped')
})

test('a page that was overtaken while it was made is not kept', async (t) => {
  const { store, list, status } = await listOver(t)
  await addProject(store, 'one')
  await list({ limit: 50 })
  let overtaking: Promise<Buffer> | undefined
  status.afterNextLook(() => {
    status.become('running')
    overtaking = list({ limit: 50 })
  })
  assert.equal(slugsIn(await list({ limit: 20 })), 'one: stopped')
  await overtaking
  assert.equal(slugsIn(await list({ limit: 20 })), 'one: running')
})

async function listOver(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'stackquay-list-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const store = await openStore({
    file: join(home, 'stackquay.db'),
    sealingKey: { id: 'key', key: Buffer.alloc(32, 1) },
    clock: { now: () => new Date() },
  })
  t.after(() => store.close())
  let state = 'stopped'
  let version = 0
  let afterLook = () => {}
  const slugs = new Map<string, string>()
  const model = {
    version: () => version,
    summaryJson: (id: string) => {
      const text = slugs.has(id) ? JSON.stringify({ slug: slugs.get(id), state }) : null
      const act = afterLook
      afterLook = () => {}
      act()
      return text
    },
    renew: async (id: string) => {
      slugs.set(id, (await store.projects.find(id))!.slug)
      version += 1
    },
    find: () => null,
  }
  const become = (next: string) => {
    state = next
    version += 1
  }
  const afterNextLook = (act: () => void) => {
    afterLook = act
  }
  return {
    store,
    status: { become, afterNextLook },
    list: createProjectList({ store, model: model as unknown as Model }),
  }
}

async function addProject(store: Store, slug: string): Promise<void> {
  await store.transaction((tx) =>
    tx.projects.insert({
      id: newId('prj'),
      slug,
      spec: emptySpec(slug),
      desired: 'stopped',
      phase: 'ready',
      path: `/projects/${slug}`,
      engine: 'native',
      source: { kind: 'empty' },
    }),
  )
}

function slugsIn(page: Buffer): string {
  const { items } = JSON.parse(page.toString()) as { items: { slug: string; state: string }[] }
  return items.map(({ slug, state }) => `${slug}: ${state}`).join(', ')
}
