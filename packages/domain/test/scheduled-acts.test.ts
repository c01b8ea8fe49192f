import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BackupScheduleSettings } from '@stackquay/contract'
import {
  type BackupSchedule,
  countedAnew,
  type SeenBackup,
  scheduledActs,
  withSettings,
} from '../src/scheduled-acts.ts'

const at = (text: string) => new Date(text)
const settings: BackupScheduleSettings = {
  cron: '30 2 * * *',
  timezone: 'UTC',
  keep: { last: 2, daily: 0, weekly: 0, monthly: 0 },
  verify: 'never',
  targets: [],
  keepOnTargets: null,
}
const set = withSettings(null, settings, at('2026-05-01T10:00:00Z'))

const made = (day: number, verified: Partial<SeenBackup> = {}): SeenBackup => ({
  id: `b${day}`,
  createdAt: `2026-05-${String(day).padStart(2, '0')}T02:31:00.000Z`,
  found: null,
  verifiedAt: null,
  copies: [],
  ...verified,
})

test('a schedule that was just set asks for nothing, whatever is there already', () => {
  const old = [1, 2, 3].map((day) => ({ ...made(day), createdAt: `2026-04-0${day}T02:31:00.000Z` }))
  assert.deepEqual(scheduledActs(set, old, at('2026-05-01T10:00:00Z')), {
    backup: null,
    verify: null,
    remove: [],
    late: { any: false, backup: false, targets: [] },
    targets: [],
    countsAnew: false,
  })
})

test('old ones go when a new backup is there, not when fewer are to stay', () => {
  const backups = [1, 2, 3, 4].map((day) => made(day))
  const now = at('2026-05-04T10:00:00Z')
  const begun = { ...set, keepSetAt: '2026-05-04T09:00:00.000Z', countsFrom: '2026-05-04T02:30:00.000Z' }
  assert.deepEqual(scheduledActs(begun, backups, now).remove, [])
  const next = scheduledActs(begun, [...backups, made(5)], at('2026-05-05T10:00:00Z'))
  assert.deepEqual(next.remove, ['b3', 'b2', 'b1'])
})

test('other times count from now; the same times with another retention go on, also with what is due', () => {
  const now = at('2026-05-02T03:00:00Z')
  const due = at('2026-05-02T02:30:00Z')
  const begun: BackupSchedule = { ...set, late: true, lastOperation: 'op_1', lastVerified: 'b1' }
  assert.deepEqual(scheduledActs(begun, [], now).backup, due)
  const more = withSettings(begun, { ...settings, keep: { ...settings.keep, last: 9 } }, now)
  assert.deepEqual(more, { ...begun, keep: { ...settings.keep, last: 9 }, keepSetAt: now.toISOString() })
  assert.deepEqual(scheduledActs(more, [], now).backup, due)
  const other = withSettings(begun, { ...settings, cron: '0 4 * * *' }, now)
  assert.equal(scheduledActs(other, [], now).backup, null)
  assert.deepEqual([other.late, other.lastOperation, other.lastVerified], [false, null, 'b1'])
  assert.equal(other.keepSetAt, set.keepSetAt)
  assert.deepEqual(withSettings(begun, settings, now), begun)
})

test('late is counted from the newest backup, or from when the times were set; a failure does not put it off', () => {
  const late = (schedule: BackupSchedule, backups: readonly SeenBackup[], now: string) =>
    scheduledActs(schedule, backups, at(now)).late.any
  assert.equal(late(set, [], '2026-05-02T14:00:00Z'), false)
  assert.equal(late(set, [], '2026-05-02T14:31:00Z'), true)
  const failedSince = { ...set, countsFrom: '2026-05-04T02:30:00.000Z' }
  assert.equal(late(failedSince, [made(2)], '2026-05-03T12:00:00Z'), false)
  assert.equal(late(failedSince, [made(2)], '2026-05-04T12:00:00Z'), true)
  assert.equal(late(failedSince, [made(2), made(4)], '2026-05-04T12:00:00Z'), false)
})

test('after a clock that was years ahead the schedule counts anew, and what was made then is left alone', () => {
  const wrong: BackupSchedule = { ...set, countsFrom: '2036-05-04T02:30:00.000Z' }
  const ahead = { ...made(1), id: 'ahead', createdAt: '2036-05-04T02:31:00.000Z' }
  const now = at('2026-05-03T12:00:00Z')
  assert.deepEqual(scheduledActs(wrong, [ahead], now), {
    backup: null,
    verify: null,
    remove: [],
    late: { any: true, backup: true, targets: [] },
    targets: [],
    countsAnew: true,
  })
  const right = countedAnew(wrong, now)
  assert.equal(scheduledActs(right, [ahead], now).countsAnew, false)
  assert.deepEqual(scheduledActs(right, [ahead], at('2026-05-04T02:30:00Z')).backup, at('2026-05-04T02:30:00Z'))
  const later = scheduledActs(
    { ...right, verify: 'always' },
    [ahead, made(4), made(5), made(6)],
    at('2026-05-06T03:00:00Z'),
  )
  assert.deepEqual([later.verify, later.remove], ['b6', ['b4']])
})

test('the newest backup is verified as the schedule says: each, one a week, or none; and each once', () => {
  const now = at('2026-05-20T12:00:00Z')
  const lately = made(15, { found: 'whole', verifiedAt: '2026-05-15T03:00:00.000Z' })
  const before = made(5, { found: 'whole', verifiedAt: '2026-05-05T03:00:00.000Z' })
  const verify = (
    policy: BackupScheduleSettings['verify'],
    backups: readonly SeenBackup[],
    lastVerified: string | null = null,
  ) => scheduledActs({ ...set, verify: policy, lastVerified }, backups, now).verify
  assert.equal(verify('always', [lately, made(20)]), 'b20')
  assert.equal(verify('weekly', [lately, made(20)]), null)
  assert.equal(verify('weekly', [before, made(20)]), 'b20')
  assert.equal(verify('never', [before, made(20)]), null)
  assert.equal(verify('always', []), null)
  assert.equal(verify('always', [lately]), null, 'it was')
  assert.equal(verify('always', [made(20)], 'b20'), null, 'it was tried, and cancelled')
  assert.equal(verify('always', [made(19), made(20)], 'b19'), 'b20')
})
