import assert from 'node:assert/strict'
import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { randomFrom } from '@stackquay/testkit/random'
import { type RouteChanges, withChanges } from '../src/route-changes.ts'
import { readRouteFile, routeFile } from '../src/route-file.ts'
import type { Route, RouteTable } from '../src/route-table.ts'
import { route, table, upstreamAt } from './support.ts'

async function place(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-routes-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'routes.json')
  const names = async () => (await readdir(folder)).sort()
  return { folder, path, names }
}

const many = (count: number) =>
  table(Array.from({ length: count }, (_, at) => route(`p${at}`, upstreamAt(3000 + (at % 5000)))))
const change = ({ generation }: RouteTable, slug: string, ...routes: readonly Route[]): RouteChanges => ({
  version: 1,
  since: generation,
  generation: generation + 1,
  projects: [{ project: `prj_${slug}`, routes }],
})

test('whatever changed one after the other is read again, and no more than two files are kept', async (t) => {
  const { path, names } = await place(t)
  const random = randomFrom(20_261_125)
  let file = routeFile(path)
  let now = many(40)
  await file.replace(now)
  for (let turn = 0; turn < 600; turn += 1) {
    // A proxy that was ended and started again goes on with what it read.
    if (random() < 0.02) {
      file = routeFile(path)
      assert.deepEqual(await readRouteFile(path), now, `turn ${turn}`)
    }
    const slug = `p${Math.floor(random() * 60)}`
    const changes = change(now, slug, ...(random() < 0.3 ? [] : [route(slug, upstreamAt(4000 + turn))]))
    now = withChanges(now, changes)
    await file.change(changes, now)
    if (turn % 50 === 0) assert.deepEqual(await readRouteFile(path), now, `turn ${turn}`)
    assert.ok((await names()).length <= 2, String(await names()))
  }
  assert.deepEqual(await readRouteFile(path), now)
})

test('a change of one project among a thousand writes its own routes alone', async (t) => {
  const { folder, path, names } = await place(t)
  const file = routeFile(path)
  let now = many(1_000)
  await file.replace(now)
  const before = await readFile(path, 'utf8')
  for (let turn = 0; turn < 20; turn += 1) {
    const changes = change(now, 'p7', route('p7', upstreamAt(5000 + turn)))
    now = withChanges(now, changes)
    await file.change(changes, now)
  }
  assert.equal(await readFile(path, 'utf8'), before)
  const [, own] = await names()
  assert.ok((await stat(join(folder, own!))).size < 20 * 1_000)
  assert.deepEqual(await readRouteFile(path), now)
})

test('a line that a crash cut off, and what is behind it, is left out; what was told as taken is there', async (t) => {
  const { folder, path, names } = await place(t)
  const file = routeFile(path)
  let now = many(5)
  await file.replace(now)
  for (const port of [5001, 5002]) {
    const changes = change(now, 'p1', route('p1', upstreamAt(port)))
    now = withChanges(now, changes)
    await file.change(changes, now)
  }
  const own = join(folder, (await names())[1]!)
  const lines = await readFile(own, 'utf8')
  const next = JSON.stringify(change(now, 'p1', route('p1', upstreamAt(5003))))
  for (const rest of [next.slice(0, 40), next, `${next.slice(0, 40)}\n${next}\n`, '\0\0\0\0\n']) {
    await writeFile(own, lines + rest)
    assert.deepEqual(await readRouteFile(path), now, JSON.stringify(rest))
  }
})

test('changes of another table are not put on this one', async (t) => {
  const { path, names } = await place(t)
  const file = routeFile(path)
  const first = many(3)
  await file.replace(first)
  const changes = change(first, 'p1', route('p1', upstreamAt(5001)))
  await file.change(changes, withChanges(first, changes))
  const second = { ...many(2), generation: first.generation + 10 }
  await file.replace(second)
  assert.deepEqual(await names(), ['routes.json'])
  // As after a crash before the old one was removed.
  await appendFile(`${path}.${first.generation}`, `${JSON.stringify(changes)}\n`)
  assert.deepEqual(await readRouteFile(path), second)
})
