import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CopyRetention, expiredCopies, type TargetCopy } from '../src/expired-copies.ts'

const now = new Date('2026-06-30T12:00:00Z')
const at = (day: number) => `2026-06-${String(day).padStart(2, '0')}T02:30:00.000Z`

const copy = (day: number, more: Partial<TargetCopy> = {}): TargetCopy => ({
  id: `b${String(day).padStart(2, '0')}`,
  createdAt: at(day),
  project: 'prj_a',
  source: 'schedule',
  instance: 'ins_a',
  bySchedule: true,
  ...more,
})

const rule = (more: Partial<CopyRetention> = {}): CopyRetention => ({
  keep: { last: 2, daily: 0, weekly: 0, monthly: 0 },
  timezone: 'UTC',
  keepSetAt: at(1),
  project: 'prj_a',
  instance: 'ins_a',
  found: () => null,
  ...more,
})

const newest = copy(10)

test('after a copy that is complete, those go that the numbers do not keep', () => {
  const copies = [copy(7), copy(8), copy(9), newest]
  assert.deepEqual(expiredCopies(copies, newest, rule(), now), ['b08', 'b07'])
  const daily = rule({ keep: { last: 1, daily: 3, weekly: 0, monthly: 0 } })
  assert.deepEqual(expiredCopies(copies, newest, daily, now), ['b07'])
})

test('nothing goes without numbers, nor before a backup that is newer than they are', () => {
  const copies = [copy(7), copy(8), copy(9), newest]
  assert.deepEqual(expiredCopies(copies, newest, rule({ keep: null }), now), [])
  assert.deepEqual(expiredCopies(copies, newest, rule({ keepSetAt: at(11) }), now), [])
  assert.deepEqual(expiredCopies(copies, newest, rule({ keepSetAt: newest.createdAt }), now), [])
})

test('what people made or copied, other projects, the instance and other instances neither count nor go', () => {
  const others = [
    copy(1, { source: 'manual' }),
    copy(2, { bySchedule: false }),
    copy(3, { project: 'prj_b' }),
    copy(4, { project: null }),
    copy(5, { instance: 'ins_b' }),
    copy(6, { instance: null }),
  ]
  assert.deepEqual(expiredCopies([...others, newest], newest, rule(), now), [])
  const none = rule({ keep: { last: 1, daily: 0, weekly: 0, monthly: 0 } })
  assert.deepEqual(expiredCopies([...others, copy(9), newest], newest, none, now), ['b09'])
  const ofInstance = [copy(4, { project: null }), copy(10, { project: null })]
  assert.deepEqual(expiredCopies([...ofInstance, copy(3)], newest, { ...none, project: null }, now), ['b04'])
})

test('where what was copied is not seen on the target, or is one that a person copied, nothing goes', () => {
  assert.deepEqual(expiredCopies([copy(7), copy(8), copy(9)], newest, rule(), now), [])
  const pinned = copy(10, { bySchedule: false })
  assert.deepEqual(expiredCopies([copy(7), copy(8), copy(9), pinned], pinned, rule(), now), [])
})

test('the newest that was found whole stays while no other one that stays was; a faulty one takes the place of none', () => {
  const copies = [copy(6), copy(7), copy(8), copy(9), newest]
  const found = (whole: string, faulty = '') =>
    rule({ found: (id) => (id === whole ? 'whole' : id === faulty ? 'faulty' : null) })
  assert.deepEqual(expiredCopies(copies, newest, found('b07'), now), ['b08', 'b06'])
  assert.deepEqual(expiredCopies(copies, newest, found('b09'), now), ['b08', 'b07', 'b06'])
  assert.deepEqual(expiredCopies(copies, newest, found('', 'b09'), now), ['b09', 'b07', 'b06'])
})

test('for random copies: what goes is a schedule’s own, and the newest and a whole one are never among it', () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return seed % below
  }
  for (let round = 0; round < 500; round += 1) {
    const copies = Array.from({ length: 1 + random(20) }, (_, index) =>
      copy(1 + random(28), {
        id: `r${index}`,
        source: ['schedule', 'schedule', 'manual'][random(3)]!,
        instance: ['ins_a', 'ins_a', 'ins_b', null][random(4)]!,
        bySchedule: random(4) > 0,
      }),
    )
    const states = new Map(copies.map(({ id }) => [id, ([null, 'whole', 'faulty'] as const)[random(3)]!]))
    const keep = { last: 1 + random(3), daily: random(3), weekly: random(3), monthly: random(2) }
    const copied = copies[random(copies.length)]!
    const found = (id: string) => states.get(id) ?? null
    const gone = expiredCopies(copies, copied, rule({ keep, keepSetAt: '2026-05-01T00:00:00.000Z', found }), now)
    const own = copies.filter((one) => one.instance === 'ins_a' && one.bySchedule && one.source === 'schedule')
    assert.ok(gone.every((id) => own.some((one) => one.id === id)))
    assert.ok(!gone.includes(copied.id))
    const left = own.filter(({ id }) => !gone.includes(id))
    if (own.length > 0) assert.ok(left.length > 0)
    if (own.some(({ id }) => found(id) === 'whole')) assert.ok(left.some(({ id }) => found(id) === 'whole'))
    const last = own
      .map(({ createdAt }) => createdAt)
      .sort()
      .at(-1)
    assert.ok(last === undefined || left.some(({ createdAt }) => createdAt === last))
  }
})
