import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BackupRetention } from '@stackquay/contract'
import { expiredBackups, type ScheduledBackup } from '../src/backup-retention.ts'
import { generator } from './random-patch.ts'

const later = new Date('2027-01-01T00:00:00Z')
const keep: BackupRetention = { last: 2, daily: 3, weekly: 2, monthly: 2 }
const lastOnly = (last: number): BackupRetention => ({ last, daily: 0, weekly: 0, monthly: 0 })

function nights(count: number, found: (day: number) => ScheduledBackup['found'] = () => null): ScheduledBackup[] {
  return Array.from({ length: count }, (_, day) => ({
    id: `b${String(day).padStart(3, '0')}`,
    createdAt: new Date(Date.UTC(2026, 0, 1 + day, 1, 30)).toISOString(),
    found: found(day),
  }))
}

function stayingOf(backups: readonly ScheduledBackup[], rules: BackupRetention, timezone = 'UTC', now = later) {
  const gone = expiredBackups(backups, rules, timezone, now)
  return backups.map(({ id }) => id).filter((id) => !gone.includes(id))
}

test('the newest, and the newest of days, weeks and months stay; what one rule keeps no other deletes', () => {
  // 1 January 2026 is a Thursday; day 59 is Sunday, 1 March. Weeks end on days 59 and 52, months on 59 and 58.
  assert.deepEqual(stayingOf(nights(60), keep), ['b052', 'b057', 'b058', 'b059'])
})

test('days are those of the time zone, a week begins on Monday, and a month is the one of the calendar', () => {
  const of = (...times: string[]): ScheduledBackup[] =>
    times.map((createdAt, index) => ({ id: `b${index}`, createdAt, found: null }))
  const daily: BackupRetention = { last: 1, daily: 2, weekly: 0, monthly: 0 }
  const evening = of('2026-05-01T21:00:00Z', '2026-05-01T23:00:00Z')
  assert.deepEqual(stayingOf(evening, daily), ['b1'])
  assert.deepEqual(stayingOf(evening, daily, 'Europe/Berlin'), ['b0', 'b1'])
  const weekly: BackupRetention = { last: 1, daily: 0, weekly: 2, monthly: 0 }
  // Saturday, Sunday, Monday.
  assert.deepEqual(stayingOf(of('2026-05-02T12:00:00Z', '2026-05-03T12:00:00Z', '2026-05-04T12:00:00Z'), weekly), [
    'b1',
    'b2',
  ])
  // The first days of January belong to the week of December.
  assert.deepEqual(stayingOf(of('2025-12-30T12:00:00Z', '2026-01-02T12:00:00Z', '2026-01-05T12:00:00Z'), weekly), [
    'b1',
    'b2',
  ])
  const monthly: BackupRetention = { last: 1, daily: 0, weekly: 0, monthly: 2 }
  assert.deepEqual(stayingOf(of('2026-03-31T12:00:00Z', '2026-04-01T12:00:00Z', '2026-04-30T12:00:00Z'), monthly), [
    'b0',
    'b2',
  ])
})

test('the only one that was found whole never goes, and goes when another one that stays was', () => {
  assert.ok(
    stayingOf(
      nights(60, (day) => (day === 3 ? 'whole' : null)),
      keep,
    ).includes('b003'),
  )
  const twice = nights(60, (day) => (day === 3 || day === 59 ? 'whole' : null))
  assert.ok(!stayingOf(twice, keep).includes('b003'))
})

test('one that was found faulty takes the place of none, and only the newest of them stays to be looked at', () => {
  const faultyLately = nights(10, (day) => (day > 4 ? 'faulty' : null))
  assert.deepEqual(stayingOf(faultyLately, lastOnly(3)), ['b002', 'b003', 'b004', 'b009'])
})

test('one of a clock that was ahead is neither counted nor deleted', () => {
  const backups = [...nights(3), { id: 'ahead', createdAt: '2036-01-01T00:00:00.000Z', found: null }]
  assert.deepEqual(stayingOf(backups, lastOnly(1)), ['b002', 'ahead'])
})

test('over random backups as many stay as the rules allow, the newest and a proof always, and a second time deletes nothing', () => {
  for (let seed = 1; seed <= 80; seed += 1) {
    const random = generator(seed)
    const backups = nights(random.below(80), () =>
      random.below(9) === 0 ? 'whole' : random.below(9) === 0 ? 'faulty' : null,
    )
    const rules: BackupRetention = {
      last: 1 + random.below(5),
      daily: random.below(8),
      weekly: random.below(5),
      monthly: random.below(4),
    }
    const stay = stayingOf(backups, rules, 'America/New_York')
    const left = backups.filter(({ id }) => stay.includes(id))
    assert.ok(left.length <= rules.last + rules.daily + rules.weekly + rules.monthly + 2, `seed ${seed}: too many`)
    const sound = backups.filter(({ found }) => found !== 'faulty')
    const leftSound = left.filter(({ found }) => found !== 'faulty')
    assert.ok(leftSound.length >= Math.min(sound.length, rules.last), `seed ${seed}: too few`)
    assert.equal(left.at(-1)?.id, backups.at(-1)?.id, `seed ${seed}: the newest`)
    assert.equal(
      backups.some(({ found }) => found === 'whole'),
      left.some(({ found }) => found === 'whole'),
      `seed ${seed}: no proof left`,
    )
    assert.deepEqual(expiredBackups(left, rules, 'America/New_York', later), [], `seed ${seed}: again`)
  }
})
