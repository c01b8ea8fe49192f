import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Act, admit, kindOfActs, mergeActs, type Unfinished } from '../src/requests.ts'

const merged = (...acts: readonly Act[]) => acts.reduce<readonly Act[]>(mergeActs, [])
const update = (...touches: string[]): Act => ({ do: 'update', touches })
const [start, stop, restart] = [{ do: 'start' }, { do: 'stop' }, { do: 'restart' }] as const

test('what touches what is collected; an update is carried out before what was asked for beside it', () => {
  assert.deepEqual(merged(update('web'), update('db', 'web')), [update('web', 'db')])
  assert.deepEqual(merged(update('web'), { do: 'update' }), [{ do: 'update' }])
  const one = { do: 'restart', workload: 'web' } as const
  assert.deepEqual(merged(one, update('db')), [update('db'), one])
  assert.equal(kindOfActs(merged(one, update('db'))), 'restart')
})

test('start and stop are levels: the last one counts, and a change is part of both', () => {
  assert.deepEqual(merged(update('web'), start, stop), [stop])
  assert.deepEqual(merged(stop, start, update('web')), [start])
  assert.deepEqual(merged(stop, update('web')), [stop])
  assert.deepEqual(merged({ do: 'stop', workload: 'web' }, start), [start])
  assert.deepEqual(merged(stop, { do: 'start', workload: 'web' }), [stop, { do: 'start', workload: 'web' }])
  assert.deepEqual(merged({ do: 'start', workload: 'web' }, { do: 'stop', workload: 'web' }), [
    { do: 'stop', workload: 'web' },
  ])
})

test('a restart that waits happens, once, whatever is asked for after it but a stop', () => {
  assert.deepEqual(merged(restart, restart), [restart])
  assert.deepEqual(merged(restart, start, update('web')), [restart])
  assert.deepEqual(merged({ ...restart, newerImages: true }, restart), [{ ...restart, newerImages: true }])
  const web = { do: 'restart', workload: 'web' } as const
  assert.deepEqual(merged(web, web, { do: 'start', workload: 'web' }), [web])
  assert.deepEqual(merged(web, start), [start, web])
  assert.deepEqual(merged(web, restart), [restart])
  assert.deepEqual(merged(start, { do: 'start', workload: 'web' }), [start])
})

test('of several choices of a build the way back is the one from before all of them', () => {
  const choice = (image: string | null): Act => ({
    do: 'restart',
    workload: 'db',
    unpinned: [{ workload: 'db', reference: 'postgres:18', image }],
  })
  assert.deepEqual(merged(choice(null), choice('sha256:1')), [choice(null)])
  assert.deepEqual(merged(choice('sha256:1'), restart), [
    { do: 'restart', unpinned: [{ workload: 'db', reference: 'postgres:18', image: 'sha256:1' }] },
  ])
})

test('what the service does by itself is added to nothing that a person asked for', () => {
  assert.deepEqual(merged({ do: 'reconcile' }), [{ do: 'reconcile' }])
  assert.deepEqual(merged(stop, { do: 'reconcile' }), [stop])
  const both = merged({ do: 'reconcile' }, update('web'))
  assert.deepEqual(both, [update('web'), { do: 'reconcile' }])
  assert.equal(kindOfActs(both), 'update')
})

test('a request is new, merged or refused by what runs and waits', () => {
  const running = (acts: readonly Act[] | null, id = 'op_1'): Unfinished => ({
    id,
    state: 'running',
    acts,
    deletes: false,
  })
  const waiting: Unfinished = { id: 'op_2', state: 'queued', acts: [update('web')], deletes: false }
  const deleting: Unfinished = { id: 'op_3', state: 'running', acts: null, deletes: true }

  assert.deepEqual(admit([], 'merge', start), { type: 'new', cancels: [] })
  assert.deepEqual(admit([running([start])], 'merge', update('web')), { type: 'new', cancels: [] })
  assert.deepEqual(admit([running([start]), waiting], 'merge', restart), { type: 'merge', into: waiting, cancels: [] })
  assert.deepEqual(admit([running(null)], 'merge', start), { type: 'refuse', holder: running(null) })
  assert.deepEqual(admit([running([start])], 'alone'), { type: 'refuse', holder: running([start]) })
  assert.deepEqual(admit([], 'alone'), { type: 'new', cancels: [] })
  const own: Unfinished = { ...running([], 'op_4'), isQuiet: true, isOwnCopy: true }
  assert.deepEqual(admit([own], 'restore'), { type: 'new', cancels: [] })
  assert.deepEqual(admit([own], 'alone'), { type: 'refuse', holder: own })
  for (const other of [running([start]), running([], 'op_5'), running(null), waiting, deleting])
    assert.deepEqual(admit([own, other], 'restore'), { type: 'refuse', holder: other })
  assert.deepEqual(admit([running(null), waiting], 'delete'), { type: 'new', cancels: [running(null), waiting] })
  assert.deepEqual(admit([deleting], 'delete'), { type: 'refuse', holder: deleting })
})

test('a stop ends what is being started, not another stop', () => {
  const starting: Unfinished = { id: 'op_1', state: 'running', acts: [start], deletes: false }
  const waiting: Unfinished = { id: 'op_2', state: 'queued', acts: [update('web')], deletes: false }
  assert.deepEqual(admit([starting], 'merge', stop), { type: 'new', cancels: [starting] })
  assert.deepEqual(admit([starting, waiting], 'merge', stop), { type: 'merge', into: waiting, cancels: [starting] })
  assert.deepEqual(admit([{ ...starting, acts: [stop] }], 'merge', stop), { type: 'new', cancels: [] })
  assert.deepEqual(admit([starting], 'merge', { do: 'stop', workload: 'web' }), { type: 'new', cancels: [] })
})
