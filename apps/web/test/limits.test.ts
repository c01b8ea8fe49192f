import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  badFields,
  emptyLimits,
  formatMemoryLimit,
  inputsOfLimits,
  type LimitsInputs,
  limitsPatch,
  memoryLimitOf,
} from '../src/lib/limits.ts'

const mib = 1024 ** 2
const stored = { cpus: 1.5, memoryBytes: 512 * mib, pids: null, workloads: { web: { memoryBytes: 2048 * mib } } }
const none: LimitsInputs = { ...emptyLimits, workloads: {} }

test('stored limits stand in the fields in the unit that says them shortest', () => {
  assert.deepEqual(inputsOfLimits(stored), {
    cpus: '1.5',
    memory: '512',
    unit: 'MiB',
    pids: '',
    workloads: { web: { cpus: '', memory: '2', unit: 'GiB', pids: '' } },
  })
  assert.deepEqual(inputsOfLimits(null), none)
})

test('what nobody touched sends nothing, whatever the number of bytes', () => {
  assert.equal(limitsPatch(stored, inputsOfLimits(stored)), null)
  assert.equal(limitsPatch(null, none), null)
  const odd = { ...stored, memoryBytes: 1_000_000_007 }
  assert.equal(limitsPatch(odd, inputsOfLimits(odd)), null)
})

test('only what was changed is sent; an emptied field takes its limit away', () => {
  const inputs = { ...inputsOfLimits(stored), cpus: '', memory: '0,5', unit: 'GiB' as const, pids: '200' }
  assert.deepEqual(limitsPatch(stored, inputs), { cpus: null, pids: 200 })
  assert.deepEqual(limitsPatch(null, { ...none, memory: '1.5', unit: 'GiB' }), { memoryBytes: 1536 * mib })
})

test('a workload without limits of its own any more is sent as null, a new one with what it says', () => {
  assert.deepEqual(limitsPatch(stored, { ...inputsOfLimits(stored), workloads: {} }), { workloads: { web: null } })
  const api = { ...emptyLimits, cpus: '0.25' }
  const inputs = { ...inputsOfLimits(stored), workloads: { ...inputsOfLimits(stored).workloads, api } }
  assert.deepEqual(limitsPatch(stored, inputs), { workloads: { api: { cpus: 0.25 } } })
  assert.equal(limitsPatch(null, { ...none, workloads: { api: emptyLimits } }), null)
})

test('what no limit can be is told of the field', () => {
  assert.deepEqual(badFields(emptyLimits), [])
  assert.deepEqual(badFields({ cpus: '0.01', memory: '6', unit: 'MiB', pids: '8' }), [])
  assert.deepEqual(badFields({ cpus: 'two', memory: '5', unit: 'MiB', pids: '7' }), ['cpus', 'memory', 'pids'])
  assert.deepEqual(badFields({ cpus: '257', memory: '0.001', unit: 'GiB', pids: '8.5' }), ['cpus', 'memory', 'pids'])
})

test('the memory of a workload is its own limit, else that of the project', () => {
  assert.equal(memoryLimitOf(stored, 'web'), 2048 * mib)
  assert.equal(memoryLimitOf(stored, 'api'), 512 * mib)
  assert.equal(memoryLimitOf(null, 'api'), null)
})

test('limits are written with the units of containers', () => {
  assert.equal(formatMemoryLimit(512 * mib), '512 MiB')
  assert.equal(formatMemoryLimit(1536 * mib), '1.5 GiB')
  assert.equal(formatMemoryLimit(1_000_000_000), '953.67 MiB')
})
