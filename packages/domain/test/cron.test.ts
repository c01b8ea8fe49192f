import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rounds } from '@stackquay/testkit/rounds'
import { nextBackup } from '../src/backup-schedule.ts'
import {
  type CronAct,
  type CronSeen,
  type CronState,
  cronAct,
  lastSkip,
  nextCronTimes,
  timeLimitSeconds,
} from '../src/cron.ts'
import type { CronSpec } from '../src/spec.ts'
import { generator } from './random-patch.ts'

const at = (text: string) => new Date(text)
const job = (rest: Partial<CronSpec> = {}): CronSpec => ({
  schedule: '0 3 * * *',
  timezone: 'UTC',
  command: ['true'],
  timeLimit: '1h',
  overlap: 'skip',
  runtime: null,
  enabled: true,
  ...rest,
})
const up: CronSeen = { running: true, held: false, runs: 0, room: true }
/** What a row of looks comes to, one after the other. */
function looks(
  spec: CronSpec,
  moments: readonly (readonly [string, Partial<CronSeen>?])[],
  before: CronState | null = null,
) {
  let state = before
  return moments.map(([moment, seen = {}]): CronAct => {
    const act = cronAct(spec, state, { ...up, ...seen }, at(moment), at(moment))
    state = act.state
    return act
  })
}
const started = (acts: readonly CronAct[]) => acts.map(({ start }) => start?.toISOString() ?? null)

test('a job never runs when it is made, and runs once at its time', () => {
  const acts = looks(job(), [
    ['2026-05-01T03:00:00Z'],
    ['2026-05-01T12:00:00Z'],
    ['2026-05-02T02:59:59.999Z'],
    ['2026-05-02T03:00:00Z'],
    ['2026-05-02T03:00:00Z'],
    ['2026-05-02T03:01:00Z'],
  ])
  assert.deepEqual(started(acts), [null, null, null, '2026-05-02T03:00:00.000Z', null, null])
})

test('a job that is made a moment before its time runs at it, though it is looked at after', () => {
  const act = cronAct(job(), null, up, at('2026-05-01T02:59:59.950Z'), at('2026-05-01T03:00:00.050Z'))
  assert.deepEqual(act.start, at('2026-05-01T03:00:00Z'))
})

test('what passed while the service was down is made up for once; other times count from when they are set', () => {
  const acts = looks(job(), [['2026-05-01T12:00:00Z'], ['2026-06-10T09:30:00Z'], ['2026-06-10T09:31:00Z']])
  assert.deepEqual(started(acts), [null, '2026-06-10T03:00:00.000Z', null])
  const other = looks(
    job({ schedule: '30 9 * * *' }),
    [['2026-06-11T09:45:00Z'], ['2026-06-12T09:30:00Z']],
    acts[2]!.state,
  )
  assert.deepEqual(started(other), [null, '2026-06-12T09:30:00.000Z'])
})

test('while the project is stopped, nothing runs; the time is told and not made up for', () => {
  const spec = job()
  const [first, stopped] = looks(spec, [['2026-05-01T12:00:00Z'], ['2026-05-01T18:00:00Z', { running: false }]])
  assert.equal(first!.state.active, true)
  const later = at('2026-05-03T12:00:00Z')
  assert.deepEqual(lastSkip(spec, stopped!.state, later), { at: '2026-05-03T03:00:00.000Z', because: 'stopped' })
  const [again, next] = looks(spec, [['2026-05-03T12:00:00Z'], ['2026-05-04T03:00:00Z']], stopped!.state)
  assert.equal(again!.start, null)
  assert.deepEqual(lastSkip(spec, again!.state, later), { at: '2026-05-03T03:00:00.000Z', because: 'stopped' })
  assert.deepEqual(next!.start, at('2026-05-04T03:00:00Z'))
})

test('one that is off is silent, and on again it makes up for nothing', () => {
  const stopped = looks(job(), [['2026-05-01T12:00:00Z'], ['2026-05-01T13:00:00Z', { running: false }]])[1]!.state
  assert.equal(lastSkip(job({ enabled: false }), stopped, at('2026-05-05T12:00:00Z')), null)
  // Of one that is off nothing is remembered.
  const on = looks(job(), [['2026-05-06T12:00:00Z'], ['2026-05-07T03:00:00Z']])
  assert.deepEqual(started(on), [null, '2026-05-07T03:00:00.000Z'])
  assert.equal(on[0]!.state.skippedAt, null)
})

test('a run that is under way: its time is skipped, replaces it, or runs beside it, five at most', () => {
  const before = looks(job(), [['2026-05-01T12:00:00Z']])[0]!.state
  const due: readonly (readonly [string, Partial<CronSeen>])[] = [['2026-05-02T03:00:00Z', { runs: 1 }]]
  const [skip] = looks(job(), due, before)
  assert.deepEqual([skip!.start, skip!.ends, skip!.state.skippedBecause], [null, false, 'still_running'])
  assert.equal(skip!.state.countsFrom, '2026-05-02T03:00:00.000Z')

  const replacing = job({ overlap: 'replace' })
  const [replace, then] = looks(replacing, [...due, ['2026-05-02T03:00:04Z', { runs: 0 }]], before)
  assert.deepEqual([replace!.start, replace!.ends, replace!.state.countsFrom], [null, true, before.countsFrom])
  assert.deepEqual([then!.start, then!.ends], [at('2026-05-02T03:00:00Z'), false])

  const allowing = job({ overlap: 'allow' })
  assert.deepEqual(started(looks(allowing, due, before)), ['2026-05-02T03:00:00.000Z'])
  const [many] = looks(allowing, [['2026-05-02T03:00:00Z', { runs: 5 }]], before)
  assert.deepEqual([many!.start, many!.state.skippedBecause], [null, 'too_many'])
})

test('while something is done with the project, or it has no room, the time waits', () => {
  const before = looks(job(), [['2026-05-01T12:00:00Z']])[0]!.state
  for (const waiting of [{ held: true }, { room: false }]) {
    const acts = looks(job(), [['2026-05-02T03:00:00Z', waiting], ['2026-05-02T03:20:00Z']], before)
    assert.deepEqual(started(acts), [null, '2026-05-02T03:00:00.000Z'])
  }
})

test('a clock that is put back runs nothing twice; one that was wrong by years counts anew', () => {
  const [, ran] = looks(job(), [['2026-05-01T12:00:00Z'], ['2026-05-02T03:00:10Z']])
  assert.deepEqual(started(looks(job(), [['2026-05-02T02:59:00Z'], ['2026-05-02T03:00:05Z']], ran!.state)), [
    null,
    null,
  ])
  const wrong = looks(job(), [['2036-05-01T12:00:00Z']])[0]!.state
  const right = looks(job(), [['2026-05-01T12:00:00Z'], ['2026-05-02T03:00:00Z']], wrong)
  assert.deepEqual(started(right), [null, '2026-05-02T03:00:00.000Z'])
})

test('next times and time limits are read', () => {
  const times = nextCronTimes(job({ schedule: '30 2 * * *', timezone: 'Europe/Berlin' }), at('2026-03-28T12:00:00Z'), 2)
  assert.deepEqual(times, [at('2026-03-29T01:00:00Z'), at('2026-03-30T00:30:00Z')])
  assert.deepEqual(['30s', '10m', '2h', '7d', ''].map(timeLimitSeconds), [30, 600, 7200, 0, 0])
})

/** Of a year: `npm run soak` takes all, a test run a share that takes seconds. */
const schedules = rounds(40, 1000)
const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'America/Sao_Paulo']
const day = 86_400_000

test(`over a year, ${schedules} schedules in five time zones run at each of their times, none twice, by what the clock on the wall shows`, () => {
  for (let seed = 1; seed <= schedules; seed += 1) {
    const random = generator(seed)
    const times = randomTimes(random)
    const spec = job({ ...times })
    const begin = Date.UTC(2026, 0, 1) + random.below(day)
    const ran: number[] = []
    let state: CronState | null = null
    // The clock of the keeper: it looks at the next time or after half a minute at most; here rests are skipped over to the next time.
    let now = begin
    const spans = spansOf(times.schedule, begin)
    for (const [from, to] of spans) {
      now = from
      const counted: Date = new Date(now)
      state = cronAct(spec, null, up, counted, counted).state
      while (now <= to) {
        const act: CronAct = cronAct(spec, state, up, new Date(now), new Date(now))
        state = act.state
        if (act.start !== null) ran.push(act.start.getTime())
        const [next] = nextCronTimes(spec, new Date(now), 1)
        // Seconds late now and then, as a busy machine is; never so late that the next time has come.
        now = next!.getTime() + random.below(59_000)
      }
    }
    const what = `seed ${seed}: ${times.schedule} in ${times.timezone}`
    assert.equal(new Set(ran).size, ran.length, `${what}: twice`)
    const expected = spans.flatMap(([from, to]) => timesOnTheWall(times, from, to))
    assert.deepEqual(
      ran.filter((time) => spans.some(([from, to]) => time > from + 60_000 && time < to - 60_000)),
      expected.filter((time) => spans.some(([from, to]) => time > from + 60_000 && time < to - 60_000)),
      what,
    )
  }
})

function randomTimes(random: ReturnType<typeof generator>): { schedule: string; timezone: string } {
  const minute = random.pick([
    `${random.below(60)}`,
    `*/${2 + random.below(29)}`,
    `${random.below(30)},${30 + random.below(30)}`,
  ])
  const hour = random.pick([
    '*',
    `${random.below(24)}`,
    `*/${2 + random.below(6)}`,
    `${random.below(12)}-${12 + random.below(12)}`,
  ])
  const dayOfWeek = random.pick(['*', '*', `${random.below(7)}`, '1-5'])
  const dayOfMonth = dayOfWeek === '*' ? random.pick(['*', '*', `${1 + random.below(28)}`]) : '*'
  return { schedule: `${minute} ${hour} ${dayOfMonth} * ${dayOfWeek}`, timezone: random.pick(zones) }
}

/** The whole year for what is rare; the weeks around the changes of clocks for what comes every hour. */
function spansOf(schedule: string, begin: number): readonly (readonly [number, number])[] {
  const isRare = /^\d+(,\d+)? \d+ /.test(schedule)
  if (isRare) return [[begin, Date.UTC(2027, 0, 1)]]
  return ['2026-03-06', '2026-03-27', '2026-04-03', '2026-10-02', '2026-10-23', '2026-10-30'].map((text) => {
    const from = Date.parse(`${text}T00:00:00Z`)
    return [from, from + 4 * day]
  })
}

interface Wall {
  readonly minute: number
  readonly hour: number
  readonly day: number
  readonly weekday: number
}

const offsets = new Map<string, Intl.DateTimeFormat>()
function wallAt(timeZone: string, time: number): Wall & { readonly offset: number } {
  const format =
    offsets.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
  offsets.set(timeZone, format)
  const shown = Date.parse(`${format.format(time).replace(' ', 'T')}Z`)
  return { ...fieldsOf(shown), offset: shown - time }
}

function fieldsOf(shown: number): Wall {
  const date = new Date(shown)
  return { minute: date.getUTCMinutes(), hour: date.getUTCHours(), day: date.getUTCDate(), weekday: date.getUTCDay() }
}

/**
 * Every minute of a span, by the clock on the wall, without croner. A time with `*` in minute or hour goes on at its pace through a change
 * of the clock; a fixed one comes once on the night with two of it, and behind the gap on the night without it.
 */
function timesOnTheWall(
  { schedule, timezone }: { schedule: string; timezone: string },
  from: number,
  to: number,
): number[] {
  const matches = matcher(schedule)
  const isFixed = !/^\S*\*\S* |^\S+ \S*\*/.test(schedule)
  const found: number[] = []
  const first = Math.ceil(from / 60_000) * 60_000
  let before = wallAt(timezone, first - 60_000)
  for (let time = first; time <= to; time += 60_000) {
    // Offsets change on whole half hours; between them the clock goes on.
    const wall =
      time % 1_800_000 === 0 ? wallAt(timezone, time) : { ...fieldsOf(time + before.offset), offset: before.offset }
    const jumped = wall.offset - before.offset
    const isSecond =
      wall.offset < wallAt(timezone, time - 2 * 3_600_000).offset && isRepeated(timezone, time, wall.offset)
    if (jumped > 0 && isFixed) {
      for (let left = 0; left < jumped; left += 60_000)
        if (matches(fieldsOf(time + before.offset + left))) found.push(time)
    }
    if (matches(wall) && !(isFixed && isSecond)) found.push(time)
    before = wall
  }
  return [...new Set(found)].sort((one, other) => one - other)
}

/** Whether the clock showed this already, before it was put back. */
function isRepeated(timezone: string, time: number, offset: number): boolean {
  for (const back of [1_800_000, 3_600_000]) if (wallAt(timezone, time - back).offset === offset + back) return true
  return false
}

function matcher(schedule: string): (wall: Wall) => boolean {
  const [minute, hour, dayOfMonth, , dayOfWeek] = schedule
    .split(' ')
    .map((field, index) => setOf(field, [60, 24, 32, 13, 7][index]!))
  return (wall) =>
    minute!.has(wall.minute) && hour!.has(wall.hour) && dayOfMonth!.has(wall.day) && dayOfWeek!.has(wall.weekday)
}

function setOf(field: string, size: number): ReadonlySet<number> {
  const all = Array.from({ length: size }, (_, value) => value)
  return new Set(
    field.split(',').flatMap((part) => {
      const [range = '*', step] = part.split('/')
      if (range === '*') return all.filter((value) => step === undefined || value % Number(step) === 0)
      const [low, high] = range.split('-').map(Number)
      return all.filter((value) => value >= low! && value <= (high ?? low!))
    }),
  )
}

test('what the next time is and what was due agree over random moments', () => {
  const random = generator(7)
  for (let index = 0; index < 200; index += 1) {
    const { schedule, timezone } = randomTimes(random)
    const from = new Date(Date.UTC(2026, random.below(12), 1 + random.below(28), random.below(24), random.below(60)))
    const next = nextBackup({ cron: schedule, timezone }, from)!
    const spec = job({ schedule, timezone })
    const state = cronAct(spec, null, up, from, from).state
    assert.deepEqual(cronAct(spec, state, up, next, next).start, next, `${schedule} in ${timezone}`)
  }
})
