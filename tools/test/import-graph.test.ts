import assert from 'node:assert/strict'
import { test } from 'node:test'
import { circles, folderGraph, type Graph, importGraph, wayRound } from '../import-graph.ts'
import { importedBy } from '../repository.ts'

test('an import counts as one of types when Node does not load the module for it', () => {
  const cases: readonly (readonly [string, boolean])[] = [
    [`import type { A } from './x.ts'`, true],
    [`import type * as all from './x.ts'`, true],
    [`import { type A, type B } from './x.ts'`, true],
    [`import {\n  type A,\n  type B,\n} from './x.ts'`, true],
    [`export type { A } from './x.ts'`, true],
    [`export type * from './x.ts'`, true],
    [`type Run = typeof import('./x.ts').run`, true],
    [`const place = import.meta.resolve('./x.ts')`, true],
    [`import { a } from './x.ts'`, false],
    [`import { a, type B } from './x.ts'`, false],
    [`import { type A, b } from './x.ts'`, false],
    [`import {\n  type A,\n  b,\n} from './x.ts'`, false],
    [`import a, { type B } from './x.ts'`, false],
    [`import type from './x.ts'`, false],
    [`import * as all from './x.ts'`, false],
    [`import './x.ts'`, false],
    [`export * from './x.ts'`, false],
    [`export { a } from './x.ts'`, false],
    [`const { a } = await import('./x.ts')`, false],
  ]
  for (const [text, typeOnly] of cases) assert.deepEqual(importedBy(text), [{ module: './x.ts', typeOnly }], text)
})

test('files are found behind relative names and behind names of workspaces', () => {
  const members = [
    { folder: 'packages/contract', manifest: { name: '@stackquay/contract' } },
    { folder: 'packages/contract-old', manifest: { name: '@stackquay/contract-old' } },
  ]
  const text = `
import { a } from '../b.ts'
import { c } from '@stackquay/contract'
import { d } from '@stackquay/contract/schemas/network'
import { lab } from '@stackquay/contract/lab'
import type { T } from './types.ts'
import { readFile } from 'node:fs/promises'
import zod from 'zod'
import page from './page.css?raw'
`
  const targets = [
    'apps/x/src/b.ts',
    'packages/contract/src/index.ts',
    'packages/contract/src/schemas/network.ts',
    'packages/contract/src/lab/index.ts',
    'apps/x/src/a/types.ts',
  ]
  const sources = [{ path: 'apps/x/src/a/a.ts', text }, ...targets.map((path) => ({ path, text: '' }))]
  assert.deepEqual([...importGraph(sources, members, 'all').get('apps/x/src/a/a.ts')!], targets)
  assert.deepEqual([...importGraph(sources, members, 'value').get('apps/x/src/a/a.ts')!], targets.slice(0, 4))
})

test('circles are found whatever their length, and apart from each other', () => {
  assert.deepEqual(circles(graph({ a: 'b', b: 'c', c: '' })), [])
  assert.deepEqual(circles(graph({ a: 'b c', b: 'd', c: 'd', d: '' })), [], 'two ways to one file are no circle')
  assert.deepEqual(circles(graph({ a: 'a', b: '' })), [['a']])
  assert.deepEqual(circles(graph({ x: 'a', a: 'b', b: 'c', c: 'a d', d: 'e', e: 'd f', f: '' })), [
    ['a', 'b', 'c'],
    ['d', 'e'],
  ])
  assert.deepEqual(circles(graph({ c: 'a', b: 'c b', a: 'b c' })), [['a', 'b', 'c']])
})

test('the way round a circle is a shortest one', () => {
  const tangled = graph({ a: 'b d', b: 'c', c: 'a', d: 'e', e: 'c' })
  assert.deepEqual(wayRound(tangled, circles(tangled)[0]!), ['a', 'b', 'c', 'a'])
  assert.deepEqual(wayRound(graph({ a: 'a' }), ['a']), ['a', 'a'])
})

test('of folders, only those beside each other count', () => {
  const files = graph({
    's/http/app.ts': 's/access/deep/tokens.ts s/clock.ts',
    's/access/deep/tokens.ts': 's/http/rights.ts s/access/users.ts',
    's/access/users.ts': 's/access/deep/tokens.ts',
    's/main.ts': 's/http/app.ts',
    's/http/rights.ts': 's/main.ts',
    's/clock.ts': '',
  })
  assert.deepEqual(folderGraph(files), graph({ 's/http': 's/access', 's/access': 's/http' }))
})

/** `{ a: 'b c' }`: a needs b and c. */
function graph(needs: Readonly<Record<string, string>>): Graph {
  return new Map(
    Object.entries(needs).map(([node, others]) => [node, new Set(others.split(' ').filter((other) => other !== ''))]),
  )
}
