import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseTypes, runtimeTypes, serviceTypes } from '@stackquay/catalog'
import type { ProjectPatch } from '@stackquay/contract'
import { parseManifest } from '../src/manifest.ts'
import { mergeProject } from '../src/merge-project.ts'
import { printManifest } from '../src/print-manifest.ts'
import { pruneOf } from '../src/prune.ts'
import { emptySpec, type ProjectSpec } from '../src/spec.ts'
import { offersOfAll } from './random-patch.ts'

function merged(spec: ProjectSpec, patch: ProjectPatch, env: ProjectSpec['env'] = {}) {
  const answer = mergeProject(spec, patch, env, offersOfAll, 'enables')
  assert.ok(answer.ok, JSON.stringify(answer))
  return answer
}

const kinds = [...runtimeTypes, ...serviceTypes].map(({ name }) => name)
const everything = merged(
  emptySpec('Shop'),
  {
    ...Object.fromEntries(kinds.map((name) => [name, {}])),
    databases: { main: { type: databaseTypes[0]!.name } },
    healthCheck: { path: '/up' },
    limits: { cpus: 1 },
  },
  { A: { secret: false, value: '1' }, TOKEN: { secret: true, ref: { secret: 'sec_1', version: 1 } } },
).spec

test('what a file does not name is switched off or taken away, and what it names is left to it', () => {
  for (const kept of kinds) {
    const pruned = pruneOf(everything, { [kept]: { enabled: true } })
    assert.deepEqual(
      Object.entries(pruned).filter(([name]) => kinds.includes(name)),
      [[kept, { enabled: true }], ...kinds.filter((name) => name !== kept).map((name) => [name, { enabled: false }])],
    )
  }
  const { env, healthCheck, limits } = pruneOf(everything, { env: { A: '2' } })
  assert.deepEqual([env, healthCheck, limits], [{ TOKEN: null, A: '2' }, null, null])
})

test('data and databases are never pruned', () => {
  const pruned = pruneOf(everything, {})
  assert.ok(!('databases' in pruned))
  const after = merged(everything, pruned)
  assert.deepEqual(after.removesData, [])
  assert.deepEqual(after.spec.databases, everything.databases)
  assert.deepEqual(Object.keys(after.spec.services), Object.keys(everything.services), 'settings stay for another day')
  assert.ok([...Object.values(after.spec.services), ...Object.values(after.spec.runtimes)].every((one) => !one.enabled))
})

test('a name, a database and what is off already ask for nothing', () => {
  const off = merged(everything, Object.fromEntries(kinds.map((name) => [name, { enabled: false }]))).spec
  const bare: ProjectSpec = { ...off, env: {}, healthCheck: null, limits: null }
  assert.deepEqual(pruneOf(bare, {}), {})
  assert.deepEqual(pruneOf(bare, { name: 'Other', databases: { main: { exposePort: true } } }), {
    name: 'Other',
    databases: { main: { exposePort: true } },
  })
})

test('a variable named like a property of every object is one', () => {
  const env = Object.fromEntries([['__proto__', { secret: false, value: 'x' } as const]])
  const spec: ProjectSpec = { ...emptySpec('Shop'), env }
  assert.deepEqual(Object.entries(pruneOf(spec, {}).env ?? {}), [['__proto__', null]])
  const named = { env: Object.fromEntries([['__proto__', 'y']]) }
  assert.deepEqual(Object.entries(pruneOf(spec, named).env ?? {}), [['__proto__', 'y']])
  assert.deepEqual(pruneOf(emptySpec('Shop'), { env: {} }), { env: {} })
})

test('a file that says nothing of health and limits with null keeps saying so', () => {
  assert.deepEqual(
    pruneOf({ ...emptySpec('Shop'), healthCheck: everything.healthCheck }, { healthCheck: { path: '/' } }),
    {
      healthCheck: { path: '/' },
    },
  )
})

test('a project’s own file prunes nothing', () => {
  const parsed = parseManifest(printManifest(everything))
  assert.ok(parsed.ok)
  // The secret variable is named by the file; the server puts it beside the patch.
  const patch: ProjectPatch = {
    ...parsed.manifest.patch,
    env: { ...parsed.manifest.patch.env, TOKEN: { secret: true } },
  }
  assert.deepEqual(pruneOf(everything, patch), patch)
})
