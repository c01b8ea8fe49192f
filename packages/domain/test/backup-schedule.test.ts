import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type BackupTimes,
  dueBackup,
  isClockFault,
  isLate,
  nextBackup,
  scheduleBlocker,
} from '../src/backup-schedule.ts'
import { generator } from './random-patch.ts'

const at = (text: string) => new Date(text)
const day = 86_400_000
const nightly: BackupTimes = { cron: '30 2 * * *', timezone: 'Europe/Berlin' }

test('a schedule is refused by its field: a time zone that is none, other than five fields, a time that never comes', () => {
  const now = at('2026-01-01T00:00:00Z')
  const of = (cron: string, timezone = 'UTC') => scheduleBlocker({ cron, timezone }, now)?.field ?? null
  for (const cron of ['30 2 * * *', '*/5 * * * *', '0 3 L * *', '0 0 29 2 *', '0 3 * * MON', ' 0  3 * * 1-5 '])
    assert.equal(of(cron), null, cron)
  for (const cron of [
    '',
    '@daily',
    '* * * * * *',
    '61 * * * *',
    'a b c d e',
    '0 0 31 2 *',
    '0 0 31 4,6 *',
    '0 3 ١ * *',
  ])
    assert.equal(of(cron), 'cron', cron)
  // Five years ahead is as good as never.
  assert.equal(of('0 0 29 2 +MON'), 'cron')
  for (const timezone of ['', 'Mars/Base', '+05:00', 'UTC; rm', '../UTC'])
    assert.equal(of('0 3 * * *', timezone), 'timezone', timezone)
})

test('setting a schedule makes no backup; the next time does, once', () => {
  const set = at('2026-05-01T10:00:00Z')
  assert.equal(dueBackup(nightly, set, set), null)
  assert.equal(dueBackup(nightly, set, at('2026-05-02T00:29:59.999Z')), null)
  const due = dueBackup(nightly, set, at('2026-05-02T00:30:00Z'))
  assert.deepEqual(due, at('2026-05-02T00:30:00Z'))
  assert.equal(dueBackup(nightly, due!, at('2026-05-02T00:31:00Z')), null)
  // Set in the very minute of its time, it waits for the next one.
  assert.equal(dueBackup(nightly, due!, due!), null)
})

test('a month without the service makes one backup, and the next regular time the next one', () => {
  const since = at('2026-05-02T00:30:00Z')
  const due = dueBackup(nightly, since, at('2026-06-09T12:00:00Z'))
  assert.deepEqual(due, at('2026-06-09T00:30:00Z'))
  assert.equal(dueBackup(nightly, due!, at('2026-06-10T00:29:00Z')), null)
  assert.deepEqual(dueBackup(nightly, due!, at('2026-06-10T00:31:00Z')), at('2026-06-10T00:30:00Z'))
})

test('a clock that was put back makes none a second time; one that was wrong by far is told from it', () => {
  const done = at('2026-05-09T00:30:00Z')
  for (const now of ['2026-05-09T00:00:00Z', '2026-05-08T12:00:00Z', '2026-05-09T12:00:00Z'])
    assert.equal(dueBackup(nightly, done, at(now)), null, now)
  const weekly = { ...nightly, cron: '30 2 * * SAT' }
  assert.equal(isClockFault(nightly, done, at('2026-05-08T00:30:00Z')), false, 'a day')
  assert.equal(isClockFault(weekly, done, at('2026-05-03T12:00:00Z')), false, 'one time alone')
  assert.equal(isClockFault(weekly, done, at('2026-04-30T12:00:00Z')), true, 'two times')
  assert.equal(isClockFault(nightly, at('2036-05-09T00:30:00Z'), at('2026-05-09T00:30:00Z')), true, 'ten years')
  assert.equal(isClockFault(nightly, done, at('2026-06-09T00:30:00Z')), false, 'behind')
})

test('the night without half past two has its backup, and the night with two of them has one', () => {
  assert.deepEqual(nextBackup(nightly, at('2026-03-28T12:00:00Z')), at('2026-03-29T01:00:00Z'))
  const first = nextBackup(nightly, at('2026-10-24T12:00:00Z'))
  assert.deepEqual(first, at('2026-10-25T00:30:00Z'))
  assert.deepEqual(nextBackup(nightly, first!), at('2026-10-26T01:30:00Z'))
  // Two times a day are fixed times too.
  const twice = { ...nightly, cron: '30 2,14 * * *' }
  assert.deepEqual(nextBackup(twice, first!), at('2026-10-25T13:30:00Z'))
})

test('in every time zone that changes its clock, a daily time comes once on each day, at its time or behind the gap', () => {
  let changes = 0
  for (const timezone of Intl.supportedValuesOf('timeZone')) {
    const wall = wallIn(timezone)
    for (const change of offsetChanges(wall, 2026)) {
      changes += 1
      for (const cron of ['0 0 * * *', '30 0 * * *', '15 1 * * *', '30 2 * * *', '59 3 * * *']) {
        const [minute, hour] = cron.split(' ').map(Number)
        const times = timesBetween({ cron, timezone }, change - 4 * day, change + 4 * day)
        const days = times.map((time) => wall(time).day)
        const what = `${timezone} ${cron} around ${new Date(change).toISOString()}`
        assert.equal(new Set(days).size, days.length, `${what}: twice a day`)
        assert.ok(times.length >= 7, `${what}: a day without`)
        for (const time of times) {
          const { minutes } = wall(time)
          const late = minutes - (hour! * 60 + minute!)
          // Behind a gap: the clock does not show the time that is wanted on that day, and at most two hours are left out.
          const isMoved = late > 0 && late <= 120 && wall(time - late * 60_000).minutes !== hour! * 60 + minute!
          assert.ok(late === 0 || isMoved, `${what}: at ${new Date(time).toISOString()}`)
        }
      }
    }
  }
  assert.ok(changes > 100, `${changes} changes`)
})

test('in every time zone that changes its clock, an hourly time comes every hour', () => {
  for (const timezone of Intl.supportedValuesOf('timeZone')) {
    for (const change of offsetChanges(wallIn(timezone), 2026)) {
      const times = timesBetween({ cron: '0 * * * *', timezone }, change - day, change + day)
      const gaps = times.slice(1).map((time, index) => (time - times[index]!) / 60_000)
      // Lord Howe moves its clock by half an hour.
      assert.ok(
        gaps.every((gap) => gap >= 30 && gap <= 90),
        `${timezone}: ${gaps}`,
      )
    }
  }
})

test('over random schedules, time zones, outages and clocks put back: one for what was missed, none at the beginning, none twice', () => {
  const zones = Intl.supportedValuesOf('timeZone')
  for (let seed = 1; seed <= 25; seed += 1) {
    const random = generator(seed)
    const hour = random.below(2) === 0 ? random.below(24) : `*/${2 + random.below(6)}`
    const times: BackupTimes = {
      cron: `${random.below(60)} ${hour} * * ${random.below(3) === 0 ? random.below(7) : '*'}`,
      timezone: random.pick(zones),
    }
    const set = new Date(Date.UTC(2026, random.below(12), 1 + random.below(28), random.below(24), random.below(60)))
    const end = set.getTime() + 40 * day
    const made: number[] = []
    let since = set
    for (let now = set.getTime(); now <= end; ) {
      const due = dueBackup(times, since, new Date(now))
      assert.deepEqual(due, lastBetween(times, since, new Date(now)), `seed ${seed}`)
      if (due !== null) {
        made.push(due.getTime())
        since = due
      }
      // Up to three hours between looks; now and then off for three days, or the clock is put back by up to a day.
      if (random.below(60) === 0) now += random.below(3 * day)
      else if (random.below(40) === 0) now -= random.below(day)
      else now += 60_000 * (1 + random.below(180))
    }
    assert.ok(
      made.every((time, index) => time > (made[index - 1] ?? set.getTime())),
      `seed ${seed}: at the beginning, or twice`,
    )
  }
})

test('a schedule is late half a period after its time, in whatever step it goes', () => {
  const last = at('2026-05-02T00:31:00Z')
  assert.equal(isLate(nightly, last, at('2026-05-03T12:30:00Z')), false)
  assert.equal(isLate(nightly, last, at('2026-05-03T12:30:01Z')), true)
  // On working days: the one of Friday is followed by Monday's, and that by Tuesday's.
  const working = { cron: '0 0 * * 1-5', timezone: 'UTC' }
  const friday = at('2026-05-01T00:05:00Z')
  assert.equal(isLate(working, friday, at('2026-05-04T11:00:00Z')), false)
  assert.equal(isLate(working, friday, at('2026-05-04T13:00:00Z')), true)
})

interface Wall {
  readonly day: string
  /** Since midnight, as the clock shows it. */
  readonly minutes: number
}

function wallIn(timeZone: string): (time: number) => Wall {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  return (time) => {
    const [date, clock] = format.format(time).split(' ')
    const [hours, minutes] = clock!.split(':').map(Number)
    return { day: date!, minutes: hours! * 60 + minutes! }
  }
}

/** Moments of a year within a day after which the clock of a zone is another one. */
function offsetChanges(wall: (time: number) => Wall, year: number): readonly number[] {
  const found: number[] = []
  const noon = (index: number) => Date.UTC(year, 0, 1 + index, 12)
  for (let index = 0; index < 364; index += 7) {
    if (wall(noon(index)).minutes === wall(noon(index + 7)).minutes) continue
    for (let each = index; each < index + 7; each += 1)
      if (wall(noon(each)).minutes !== wall(noon(each + 1)).minutes) found.push(noon(each))
  }
  return found
}

function timesBetween(times: BackupTimes, from: number, to: number): readonly number[] {
  const found: number[] = []
  for (
    let next = nextBackup(times, new Date(from));
    next !== null && next.getTime() <= to;
    next = nextBackup(times, next)
  ) {
    assert.ok(next.getTime() > (found.at(-1) ?? from), `${times.cron} in ${times.timezone} stands still`)
    found.push(next.getTime())
  }
  return found
}

/** The same as `dueBackup`, step by step. */
function lastBetween(times: BackupTimes, since: Date, now: Date): Date | null {
  const last = timesBetween(times, since.getTime(), now.getTime()).at(-1)
  return last === undefined ? null : new Date(last)
}
