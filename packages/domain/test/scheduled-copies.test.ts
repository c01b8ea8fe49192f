import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BackupSchedule, countedAnew, latenessOf, scheduledActs, withSettings } from '../src/scheduled-acts.ts'
import { type CopiedBackup, type CopyAttempt, targetsToCopyTo, withCopied } from '../src/scheduled-copies.ts'

const at = (text: string) => new Date(text)
const settings = {
  cron: '30 2 * * *',
  timezone: 'UTC',
  keep: { last: 2, daily: 0, weekly: 0, monthly: 0 },
  verify: 'never' as const,
  targets: ['tgt_a', 'tgt_b'],
  keepOnTargets: null,
}
const set = withSettings(null, settings, at('2026-05-01T10:00:00Z'))

const copy = (target: string, state: 'copying' | 'complete' | 'incomplete', time = '2026-05-02T03:00:00.000Z') => ({
  target,
  state,
  at: time,
})
const made = (day: number, ...copies: CopiedBackup['copies']): CopiedBackup => ({
  id: `b${day}`,
  createdAt: `2026-05-0${day}T02:31:00.000Z`,
  found: null,
  copies,
})
const attempt = (target: string, state: CopyAttempt['state'], backup = 'b2'): CopyAttempt => ({
  target,
  state,
  backup,
})
const due = (newest: CopiedBackup | undefined, attempts: readonly CopyAttempt[] = [], now = '2026-05-02T03:30:00Z') =>
  targetsToCopyTo(set.targets, newest, attempts, at(now))

test('the newest backup is copied to each target that has no complete copy, and none from before the target was named', () => {
  assert.deepEqual(due(undefined), [])
  assert.deepEqual(due(made(1)), [], 'made before')
  assert.deepEqual(due(made(2)), ['tgt_a', 'tgt_b'])
  assert.deepEqual(due(made(2, copy('tgt_a', 'complete'))), ['tgt_b'])
  assert.deepEqual(due(made(2, copy('tgt_other', 'complete'))), ['tgt_a', 'tgt_b'])
})

test('one copy at a time goes to a target; one that failed waits an hour, one that was cancelled does not come back', () => {
  assert.deepEqual(due(made(2), [attempt('tgt_a', 'queued')]), ['tgt_b'])
  assert.deepEqual(due(made(2), [attempt('tgt_a', 'running', 'b1')]), ['tgt_b'], 'the one of before is still sent')
  assert.deepEqual(due(made(2), [attempt('tgt_a', 'failed', 'b1'), attempt('tgt_b', 'succeeded', 'b1')]), [
    'tgt_a',
    'tgt_b',
  ])
  const failed = made(2, copy('tgt_a', 'incomplete'), copy('tgt_b', 'complete'))
  const tried = [attempt('tgt_a', 'failed')]
  assert.deepEqual(due(failed, tried, '2026-05-02T03:59:59Z'), [])
  assert.deepEqual(due(failed, tried, '2026-05-02T04:00:00Z'), ['tgt_a'])
  assert.deepEqual(
    due(failed, tried, '2026-05-02T02:59:00Z'),
    ['tgt_a'],
    'it failed in the future: the clock was wrong',
  )
  // Killed in between: nothing runs, whatever is known of it.
  assert.deepEqual(due(made(2, copy('tgt_a', 'copying'), copy('tgt_b', 'complete'))), ['tgt_a'])
  assert.deepEqual(due(made(2), [attempt('tgt_a', 'cancelled')], '2026-05-09T00:00:00Z'), ['tgt_b'])
  assert.deepEqual(due(made(2), [attempt('tgt_a', 'cancelled', 'b1')]), ['tgt_a', 'tgt_b'])
})

test('a target is late as a backup is: half a period after a copy was due; what went here counts on there', () => {
  const late = (schedule: BackupSchedule, past: readonly CopiedBackup[], now: string) =>
    latenessOf(schedule, past, at(now))
  const both = [copy('tgt_a', 'complete'), copy('tgt_b', 'incomplete')]
  assert.equal(late(set, [made(2, ...both)], '2026-05-02T14:29:00Z').any, false)
  assert.deepEqual(late(set, [made(2, ...both)], '2026-05-02T14:31:00Z'), {
    any: true,
    backup: false,
    targets: ['tgt_b'],
  })
  assert.deepEqual(late(set, [made(2, copy('tgt_a', 'complete'))], '2026-05-03T14:31:00Z'), {
    any: true,
    backup: true,
    targets: ['tgt_b'],
  })
  const acts = scheduledActs(set, [{ ...made(2, ...both), found: null, verifiedAt: null }], at('2026-05-02T04:00:00Z'))
  assert.deepEqual(
    acts.targets.map(({ lastCopied }) => lastCopied),
    ['2026-05-02T02:31:00.000Z', null],
  )
  const remembered = { ...set, targets: acts.targets }
  assert.deepEqual(late(remembered, [made(3)], '2026-05-03T14:29:00Z').targets, ['tgt_b'])
  assert.deepEqual(late(remembered, [made(3)], '2026-05-03T14:31:00Z').targets, ['tgt_a', 'tgt_b'])
  assert.deepEqual(withCopied(acts.targets, [made(3)]), acts.targets)
})

test('a target that stays in the schedule keeps what is remembered of it; a new one counts from now', () => {
  const begun = { ...set, targets: set.targets.map((one) => ({ ...one, lastOperation: 'op_1' })) }
  assert.deepEqual(withSettings(begun, settings, at('2026-05-03T00:00:00Z')), begun)
  const now = at('2026-05-02T04:00:00Z')
  const other = withSettings(begun, { ...settings, targets: ['tgt_c', 'tgt_b'] }, now)
  assert.deepEqual(other.targets, [
    {
      target: 'tgt_c',
      setAt: now.toISOString(),
      lastCopied: null,
      lastOperation: null,
      lastWhole: null,
      keepProblem: null,
    },
    begun.targets[1],
  ])
  assert.deepEqual([other.timesSetAt, other.keepSetAt], [set.timesSetAt, set.keepSetAt])
  assert.deepEqual(targetsToCopyTo(other.targets, made(2), [], now), ['tgt_b'])
})

test('a target that was named while the clock was years ahead counts anew', () => {
  const wrong = withSettings({ ...set, targets: [] }, settings, at('2036-05-01T00:00:00Z'))
  const now = at('2026-05-02T04:00:00Z')
  assert.equal(scheduledActs(wrong, [], now).countsAnew, true)
  const right = countedAnew(wrong, now)
  assert.equal(scheduledActs(right, [], now).countsAnew, false)
  assert.deepEqual(targetsToCopyTo(right.targets, made(3), [], at('2026-05-03T03:00:00Z')), ['tgt_a', 'tgt_b'])
})

test('which copy a drill found whole is remembered when its backup goes here, and not after one that found it faulty', () => {
  const [target] = set.targets
  const whole = { ...made(2, copy('tgt_a', 'complete')), found: 'whole' as const }
  const [seen] = withCopied([target!], [made(3, copy('tgt_a', 'complete')), whole])
  assert.deepEqual(seen?.lastWhole, { id: 'b2', createdAt: whole.createdAt })
  assert.deepEqual(withCopied([seen!], [made(3, copy('tgt_a', 'complete'))])[0]?.lastWhole?.id, 'b2')
  const newer = { ...made(4, copy('tgt_a', 'complete')), found: 'whole' as const }
  assert.deepEqual(withCopied([seen!], [newer, whole])[0]?.lastWhole?.id, 'b4')
  assert.deepEqual(withCopied([seen!], [{ ...newer, copies: [] }])[0]?.lastWhole?.id, 'b2', 'it lies not there')
  assert.deepEqual(withCopied([seen!], [{ ...whole, found: 'faulty' }])[0]?.lastWhole, null)
})

test('a copy that a person deleted on the target does not come back by itself', () => {
  const [target] = withCopied(set.targets.slice(0, 1), [made(2, copy('tgt_a', 'complete'))])
  assert.deepEqual(targetsToCopyTo([target!], made(2), [], at('2026-05-02T04:00:00Z')), [])
  assert.deepEqual(targetsToCopyTo([target!], made(3), [], at('2026-05-03T04:00:00Z')), ['tgt_a'])
})
