import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseTypes, runtimeTypes, serviceTypes } from '@stackquay/catalog'
import { ProjectPatch } from '@stackquay/contract'
import { limitsOf } from '../src/containers.ts'
import { parseManifest } from '../src/manifest.ts'
import { workloadNames } from '../src/merge-limits.ts'
import { mergeProject, sameSpec } from '../src/merge-project.ts'
import { printManifest } from '../src/print-manifest.ts'
import { pruneOf } from '../src/prune.ts'
import { databaseWorkload } from '../src/resolve-connections.ts'
import { emptySpec, type ProjectSpec } from '../src/spec.ts'
import { offersOfAll } from './random-patch.ts'

const runtime = runtimeTypes[0]!.name
const service = serviceTypes[0]!.name
const database = databaseWorkload(databaseTypes[0]!.name, 'main')

function merged(spec: ProjectSpec, limits: ProjectPatch['limits']): ProjectSpec {
  const answer = mergeProject(spec, limits === undefined ? {} : { limits }, {}, offersOfAll, 'enables')
  assert.ok(answer.ok, JSON.stringify(answer))
  return answer.spec
}

const shop = (() => {
  const patch = { [runtime]: {}, [service]: {}, databases: { main: { type: databaseTypes[0]!.name } } }
  const answer = mergeProject(emptySpec('Shop'), patch, {}, offersOfAll, 'enables')
  assert.ok(answer.ok)
  return answer.spec
})()

test('what is not sent stays, null takes a limit away, and what says nothing is not written down', () => {
  const first = merged(shop, { cpus: 2, pids: 100, workloads: { [runtime]: { memoryBytes: 2 ** 30, cpus: 1 } } })
  assert.deepEqual(first.limits, {
    cpus: 2,
    memoryBytes: null,
    pids: 100,
    workloads: { [runtime]: { memoryBytes: 2 ** 30, cpus: 1 } },
  })
  const second = merged(first, { pids: null, workloads: { [runtime]: { cpus: null }, [database]: { pids: 50 } } })
  assert.deepEqual(second.limits, {
    cpus: 2,
    memoryBytes: null,
    workloads: { [runtime]: { memoryBytes: 2 ** 30 }, [database]: { pids: 50 } },
  })
  const third = merged(second, { workloads: { [runtime]: null, [database]: { pids: null } } })
  assert.deepEqual(third.limits, { cpus: 2, memoryBytes: null })
  assert.equal(merged(third, null).limits, null)
})

test('a limit of a workload goes before that of the project, each for itself', () => {
  const { limits } = merged(shop, { cpus: 2, memoryBytes: 2 ** 29, workloads: { [runtime]: { cpus: 0.5 } } })
  assert.deepEqual(limitsOf({ limits }, runtime), { cpus: 0.5, memoryBytes: 2 ** 29, pids: null })
  assert.deepEqual(limitsOf({ limits }, database), { cpus: 2, memoryBytes: 2 ** 29, pids: null })
})

test('limits of a workload that there is not are refused with the names there are', () => {
  for (const name of [database, service, runtime]) assert.ok(workloadNames(shop).includes(name))
  const answer = mergeProject(
    shop,
    { limits: { workloads: { [`${runtime}x`]: { cpus: 1 } } } },
    {},
    offersOfAll,
    'keeps',
  )
  assert.ok(!answer.ok)
  const [error] = answer.errors
  assert.deepEqual([error?.pointer, error?.code], [`/limits/workloads/${runtime}x`, 'unknown_workload'])
  for (const name of workloadNames(shop)) assert.ok(error?.detail.includes(name))
})

test('limits of a database that was dropped do not stand in the way of other changes', () => {
  const limited = merged(shop, { workloads: { [database]: { cpus: 1 } } })
  const dropped = { ...limited, databases: {} }
  assert.deepEqual(merged(dropped, { cpus: 2 }).limits?.workloads, { [database]: { cpus: 1 } })
})

test('the body refuses what no engine could hold anybody to', () => {
  const fits = (limits: unknown) => ProjectPatch.safeParse({ limits }).success
  assert.ok(fits({ cpus: 0.01, memoryBytes: 6 * 1024 * 1024, pids: 8 }))
  assert.ok(fits({ cpus: 256, workloads: { web: { cpus: null }, db: null } }))
  for (const limits of [
    { cpus: 0 },
    { cpus: -1 },
    { cpus: 257 },
    { memoryBytes: 6 * 1024 * 1024 - 1 },
    { memoryBytes: 1.5e9 + 0.5 },
    { pids: 7 },
    { pids: 8.5 },
    { workloads: { web: { pids: 1 } } },
    { workloads: { 'No name': { cpus: 1 } } },
    { workloads: { web: { disk: 1 } } },
  ])
    assert.ok(!fits(limits), JSON.stringify(limits))
})

test('a project file says limits and takes them again as they were', () => {
  const limited = merged(shop, { memoryBytes: 2 ** 30, pids: 64, workloads: { [database]: { cpus: 0.5 } } })
  const text = printManifest(limited)
  assert.match(text, /limits:\n {2}memoryBytes: 1073741824\n {2}pids: 64\n {2}workloads:\n/)
  const read = parseManifest(text)
  assert.ok(read.ok, JSON.stringify(read))
  const again = mergeProject(emptySpec('Shop'), read.manifest.patch, {}, offersOfAll, 'enables')
  assert.ok(again.ok, JSON.stringify(again))
  assert.ok(sameSpec(again.spec, limited))
})

test('a file that is applied with pruning takes away the limits that it does not name', () => {
  const limited = merged(shop, {
    cpus: 2,
    pids: 64,
    workloads: { [database]: { cpus: 0.5, pids: 9 }, [runtime]: { cpus: 1 } },
  })
  const keeps = { limits: { memoryBytes: 2 ** 30, workloads: { [database]: { cpus: 1 } } } }
  assert.deepEqual(merged(limited, pruneOf(limited, keeps).limits).limits, {
    cpus: null,
    memoryBytes: 2 ** 30,
    workloads: { [database]: { cpus: 1 } },
  })
  assert.equal(merged(limited, pruneOf(limited, {}).limits).limits, null)
})
