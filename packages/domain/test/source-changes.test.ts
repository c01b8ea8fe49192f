import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Workload } from '@stackquay/engine-api'
import { changedBySource } from '../src/source-changes.ts'

const workload = (name: string, cwd: string, inputs: readonly string[] = []) =>
  ({
    ref: { project: 'prj_1', workload: name },
    title: `The ${name}`,
    run: { kind: 'process', argv: ['/bin/x'], cwd },
    setup: [{ name: 'install', title: `Install for ${name}`, inputs }],
  }) as unknown as Workload

const shop = {
  root: '/p/shop',
  workloads: [
    workload('node', '/p/shop/web', ['/p/shop/web/package-lock.json']),
    workload('python', '/p/shop', ['/p/shop/requirements.txt']),
    workload('main', '/p/shop'),
  ],
  kinds: { node: 'runtime', python: 'runtime', main: 'database' },
  sourceFiles: ['web/.nvmrc', 'requirements.txt'],
} as const

test('a lock file runs its job again and restarts what it installs for', () => {
  const [node, python] = changedBySource(['web/package-lock.json'], shop)
  assert.deepEqual(node, {
    workload: 'node',
    title: 'The node',
    because: ['web/package-lock.json changes', '1 file of its source'],
    jobs: ['Install for node'],
  })
  assert.deepEqual([python?.workload, python?.jobs], ['python', []])
})

test('source restarts what runs over it, a version file all that may be made by it, and databases nothing', () => {
  const names = (changed: string[]) => changedBySource(changed, shop).map((one) => one.workload)
  assert.deepEqual(names(['app.py']), ['python'])
  assert.deepEqual(names(['web/a.js', 'web/b.js']), ['node', 'python'])
  assert.deepEqual(names([]), [])
  const nvmrc = changedBySource(['web/.nvmrc'], shop)
  assert.match(nvmrc[0]!.because[0]!, /web\/\.nvmrc changes, which says how it runs/)
  assert.deepEqual(
    changedBySource(['web2/a.js'], { ...shop, workloads: [shop.workloads[0]] }),
    [],
    'a folder that only begins so',
  )
})
