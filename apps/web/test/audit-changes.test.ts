import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeRows } from '../src/lib/audit-changes.ts'

test('single settings are added, removed and changed, and what stayed the same is left out', () => {
  const rows = changeRows({
    'env.A': { before: null, after: '1' },
    'env.B': { before: 'secret, version 1', after: null },
    name: { before: 'Shop', after: 'Shop two' },
    'node.port': { before: 3000, after: 3000 },
  })
  assert.deepEqual(rows, [
    { kind: 'added', name: 'env.A', after: '1' },
    { kind: 'removed', name: 'env.B', before: 'secret, version 1' },
    { kind: 'changed', name: 'name', before: 'Shop', after: 'Shop two' },
  ])
})

test('a whole thing is told field by field, however deep, whether it came, went or changed', () => {
  assert.deepEqual(changeRows({ after: { username: 'bob', role: 'read', projects: ['shop', 'blog'], limit: null } }), [
    { kind: 'added', name: 'username', after: 'bob' },
    { kind: 'added', name: 'role', after: 'read' },
    { kind: 'added', name: 'projects', after: 'shop, blog' },
  ])
  assert.deepEqual(changeRows({ before: { id: 'old' }, after: { id: 'new', resealed: 3 } }), [
    { kind: 'changed', name: 'id', before: 'old', after: 'new' },
    { kind: 'added', name: 'resealed', after: '3' },
  ])
  assert.deepEqual(changeRows({ runtime: { before: null, after: { debug: false, health: { path: '/' } } } }), [
    { kind: 'added', name: 'runtime.debug', after: 'false' },
    { kind: 'added', name: 'runtime.health.path', after: '/' },
  ])
})

test('a circumstance stays a note beside what changed', () => {
  assert.deepEqual(changeRows({ source: { kind: 'git' }, name: { before: null, after: '' }, code: null }), [
    { kind: 'note', name: 'source.kind', value: 'git' },
    { kind: 'added', name: 'name', after: '""' },
  ])
  assert.deepEqual(changeRows('odd'), [{ kind: 'note', name: '', value: 'odd' }])
})

test('nothing changed is no rows', () => {
  for (const nothing of [null, undefined, {}, { before: null, after: null }]) assert.deepEqual(changeRows(nothing), [])
})

test('amounts of memory are told in the unit that people use, and to the byte where it says too little', () => {
  const limits = { memoryBytes: 512 * 1024 ** 2, workloads: { node: { memoryBytes: 1.5 * 1024 ** 3, pids: 512 } } }
  assert.deepEqual(changeRows({ limits: { before: null, after: limits } }), [
    { kind: 'added', name: 'limits.memoryBytes', after: '512 MiB' },
    { kind: 'added', name: 'limits.workloads.node.memoryBytes', after: '1.5 GiB' },
    { kind: 'added', name: 'limits.workloads.node.pids', after: '512' },
  ])
  assert.deepEqual(changeRows({ 'limits.memoryBytes': { before: 1_000_000_000, after: 1_000_000_001 } }), [
    { kind: 'changed', name: 'limits.memoryBytes', before: '1000000000 B', after: '1000000001 B' },
  ])
})
