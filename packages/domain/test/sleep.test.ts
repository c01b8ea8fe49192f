import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FieldError } from '@stackquay/contract'
import {
  emptySpec,
  goalOf,
  isInHours,
  isSleepDue,
  isWakeDue,
  lastUseOf,
  mergeSleep,
  nextWake,
  projectStatus,
  pruneOf,
  type SleepSpec,
  sleepForMemory,
} from '@stackquay/domain'

const at = (text: string) => new Date(text)
const minutes = (count: number) => count * 60_000
const spec = (over: Partial<SleepSpec>): SleepSpec => ({ after: null, hours: null, timezone: 'UTC', ...over })
const office = spec({ hours: 'mon-fri 08:00-19:00', timezone: 'Europe/Berlin' })
const longAgo = at('2026-01-01T00:00:00Z')

function isDue(sleep: SleepSpec, lastUsed: string, now: string, seenSince = longAgo) {
  return isSleepDue(sleep, { lastUsedAt: at(lastUsed), seenSince }, at(now))
}

test('a project sleeps when it was not used for as long as its settings say, and not a moment before', () => {
  const sleep = spec({ after: '2h' })
  assert.equal(isDue(sleep, '2026-05-04T10:00:00Z', '2026-05-04T11:59:59.999Z'), false)
  assert.equal(isDue(sleep, '2026-05-04T10:00:00Z', '2026-05-04T12:00:00Z'), true)
  assert.equal(isDue(spec({ after: '1m' }), '2026-05-04T10:00:00Z', '2026-05-04T10:01:00Z'), true)
  assert.equal(isDue(spec({ after: '3d' }), '2026-05-04T10:00:00Z', '2026-05-07T09:59:00Z'), false)
})

test('right after the start of the service nothing falls asleep; two minutes later what was not used for long does', () => {
  const sleep = spec({ after: '1h' })
  const started = at('2026-05-04T12:00:00Z')
  assert.equal(isDue(sleep, '2026-05-03T00:00:00Z', '2026-05-04T12:01:59Z', started), false)
  assert.equal(isDue(sleep, '2026-05-03T00:00:00Z', '2026-05-04T12:02:00Z', started), true)
})

test('above the memory that there is for them, the longest unused sleep first, until the rest fits', () => {
  const now = at('2026-05-04T12:00:00Z')
  const awake = (
    id: string,
    bytes: number,
    unused: number | null,
    sleep = spec({ after: '30d' }),
    seenSince = longAgo,
  ) => ({
    id,
    bytes,
    idle: unused === null ? null : { sleep, facts: { lastUsedAt: new Date(now.getTime() - unused), seenSince } },
  })
  const all = [
    awake('new', 100, minutes(2)),
    awake('oldest', 100, minutes(60)),
    awake('old', 100, minutes(30)),
    awake('nothing', 0, minutes(90)),
    awake('busy', 100, null),
    awake('now', 100, minutes(1) - 1),
    awake('in its hours', 100, minutes(90), office),
  ]
  assert.deepEqual(sleepForMemory(all, 600, now), [])
  assert.deepEqual(sleepForMemory(all, 599, now), ['oldest'])
  assert.deepEqual(sleepForMemory(all, 500, now), ['oldest'])
  assert.deepEqual(sleepForMemory(all, 499, now), ['oldest', 'old'])
  // Nobody who uses a project loses it, and what was just woken stays for a minute.
  assert.deepEqual(sleepForMemory(all, 0, now), ['oldest', 'old', 'new'])
  assert.deepEqual(sleepForMemory([awake('a', 9, minutes(1))], 0, now), ['a'])
  // Right after the start of the service nothing falls asleep.
  assert.deepEqual(
    sleepForMemory([awake('a', 9, minutes(60), spec({ after: '1h' }), at('2026-05-04T11:58:01Z'))], 0, now),
    [],
  )
  assert.deepEqual(sleepForMemory([], 0, now), [])
})

test('in its hours a project is kept awake; after them it sleeps a quarter of an hour after its last use', () => {
  // Berlin is two hours ahead in May. A Monday.
  assert.equal(isDue(office, '2026-05-04T06:00:00Z', '2026-05-04T16:59:59Z'), false)
  assert.equal(isDue(office, '2026-05-04T06:00:00Z', '2026-05-04T17:00:00Z'), true)
  assert.equal(isDue(office, '2026-05-04T16:50:00Z', '2026-05-04T17:04:59Z'), false)
  assert.equal(isDue(office, '2026-05-04T16:50:00Z', '2026-05-04T17:05:00Z'), true)
  // With both, `after` counts outside the hours.
  const both = { ...office, after: '1h' }
  assert.equal(isDue(both, '2026-05-04T06:00:00Z', '2026-05-04T12:00:00Z'), false)
  assert.equal(isDue(both, '2026-05-04T16:50:00Z', '2026-05-04T17:05:00Z'), false)
  assert.equal(isDue(both, '2026-05-04T16:50:00Z', '2026-05-04T17:50:00Z'), true)
  // Saturday.
  assert.equal(isDue(office, '2026-05-09T09:00:00Z', '2026-05-09T10:00:00Z'), true)
})

test('hours are read by the clock on the wall, over midnight, over Sunday and to the end of a day', () => {
  const cases: readonly [hours: string, timezone: string, now: string, inside: boolean][] = [
    ['mon-fri 08:00-19:00', 'UTC', '2026-05-04T08:00:00Z', true],
    ['mon-fri 08:00-19:00', 'UTC', '2026-05-04T07:59:59Z', false],
    ['mon-fri 08:00-19:00', 'UTC', '2026-05-04T19:00:00Z', false],
    ['mon-fri 08:00-19:00', 'America/New_York', '2026-05-04T11:59:00Z', false],
    ['mon-fri 08:00-19:00', 'America/New_York', '2026-05-04T12:00:00Z', true],
    ['mon-fri 08:00-19:00, sat 10:00-14:00', 'UTC', '2026-05-09T13:59:00Z', true],
    ['mon-fri 08:00-19:00, sat 10:00-14:00', 'UTC', '2026-05-10T13:59:00Z', false],
    ['Sat-Mon 00:00-24:00', 'UTC', '2026-05-10T23:59:59Z', true],
    ['sat-mon 00:00-24:00', 'UTC', '2026-05-12T00:00:00Z', false],
    ['fri 22:00-06:00', 'UTC', '2026-05-09T05:59:00Z', true],
    ['fri 22:00-06:00', 'UTC', '2026-05-09T06:00:00Z', false],
    ['fri 22:00-06:00', 'UTC', '2026-05-08T05:00:00Z', false],
    ['daily 09:00-10:00', 'Asia/Kolkata', '2026-05-10T03:30:00Z', true],
  ]
  for (const [hours, timezone, now, inside] of cases)
    assert.equal(isInHours(spec({ hours, timezone }), at(now)), inside, `${hours} ${timezone} ${now}`)
})

test('on the days when clocks change, hours begin and end by the new time', () => {
  // Berlin goes from +1 to +2 on 29 March 2026 and back on 25 October.
  const daily = spec({ hours: 'daily 08:00-19:00', timezone: 'Europe/Berlin' })
  assert.deepEqual(
    ['2026-03-28T06:59:00Z', '2026-03-28T07:00:00Z', '2026-03-29T05:59:00Z', '2026-03-29T06:00:00Z'].map((now) =>
      isInHours(daily, at(now)),
    ),
    [false, true, false, true],
  )
  assert.equal(nextWake(daily, at('2026-03-28T20:00:00Z'))?.toISOString(), '2026-03-29T06:00:00.000Z')
  assert.equal(nextWake(daily, at('2026-10-24T20:00:00Z'))?.toISOString(), '2026-10-25T07:00:00.000Z')
  // A beginning that is left out comes behind the gap, and wakes once.
  const gap = spec({ hours: 'daily 02:30-09:00', timezone: 'Europe/Berlin' })
  assert.equal(isWakeDue(gap, at('2026-03-28T20:00:00Z'), at('2026-03-29T00:59:00Z')), false)
  assert.equal(isWakeDue(gap, at('2026-03-28T20:00:00Z'), at('2026-03-29T01:30:00Z')), true)
})

test('every half hour of a year lies in the hours or not as the wall clock says, and each beginning wakes', () => {
  for (const timezone of ['Europe/Berlin', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'Pacific/Apia']) {
    const sleep = spec({ hours: 'mon-fri 08:00-19:00', timezone })
    const wall = new Intl.DateTimeFormat('en-GB', {
      timeZone: timezone,
      weekday: 'short',
      hour: '2-digit',
      hour12: false,
    })
    const begin = Date.parse('2026-01-04T12:00:00Z')
    let before = isInHours(sleep, new Date(begin))
    for (let now = begin; now < Date.parse('2027-01-05T00:00:00Z'); now += minutes(30)) {
      const inside = isInHours(sleep, new Date(now))
      const [day = '', hour = ''] = wall.format(now).split(/[, ]+/)
      assert.equal(
        inside,
        !/Sat|Sun/.test(day) && Number(hour) >= 8 && Number(hour) < 19,
        `${timezone} ${new Date(now).toISOString()}`,
      )
      if (inside && !before)
        assert.equal(isWakeDue(sleep, new Date(now - minutes(60)), new Date(now)), true, new Date(now).toISOString())
      before = inside
    }
  }
})

test('its hours wake a project that fell asleep before them; put to sleep within them it sleeps on until the next ones', () => {
  const evening = at('2026-05-04T18:00:00Z')
  assert.equal(isWakeDue(office, evening, at('2026-05-05T05:59:59Z')), false)
  assert.equal(isWakeDue(office, evening, at('2026-05-05T06:00:00Z')), true)
  // The service was away at the beginning.
  assert.equal(isWakeDue(office, evening, at('2026-05-05T11:00:00Z')), true)
  assert.equal(isWakeDue(office, evening, at('2026-05-05T18:00:00Z')), false)
  const within = at('2026-05-04T10:00:00Z')
  assert.equal(isWakeDue(office, within, at('2026-05-04T12:00:00Z')), false)
  assert.equal(isWakeDue(office, within, at('2026-05-05T06:00:00Z')), true)
  assert.equal(isWakeDue(spec({ after: '1h' }), evening, at('2026-05-05T06:00:00Z')), false)
  assert.equal(nextWake(office, at('2026-05-08T18:00:00Z'))?.toISOString(), '2026-05-11T06:00:00.000Z')
  assert.equal(nextWake(spec({ after: '1h' }), evening), null)
})

test('a last use that lies ahead, by a clock that was wrong, counts as now', () => {
  const now = at('2026-05-04T12:00:00Z')
  assert.deepEqual(lastUseOf([at('2027-01-01T00:00:00Z'), longAgo], now), now)
  assert.deepEqual(lastUseOf([at('2026-05-04T11:00:00Z'), longAgo], now), at('2026-05-04T11:00:00Z'))
})

function merged(before: SleepSpec | undefined, sleep: object | null | undefined) {
  const errors: FieldError[] = []
  const after = mergeSleep(before, { sleep } as never, errors)
  return { after, errors: errors.map(({ pointer }) => pointer), details: errors.map(({ detail }) => detail).join(' ') }
}

test('settings are merged field by field: absent stays, null removes, and something must be left', () => {
  assert.deepEqual(merged(undefined, { after: '2h' }).after, spec({ after: '2h' }))
  assert.deepEqual(merged(office, { after: '2h' }).after, { ...office, after: '2h' })
  assert.deepEqual(merged({ ...office, after: '2h' }, { hours: null }).after, { ...office, after: '2h', hours: null })
  assert.equal(merged(office, null).after, undefined)
  assert.equal(merged(office, undefined).after, office)
  assert.deepEqual(merged(office, { hours: null }).errors, ['/sleep'])
  assert.deepEqual(merged(undefined, {}).errors, ['/sleep'])
})

test('what is wrong is named field by field, with an example, and changes nothing', () => {
  for (const after of ['', '2', '30s', '0m', '59s', '31d', '-1h', '1.5h', '2 h', '99999d'])
    assert.deepEqual(merged(office, { after }).errors, ['/sleep/after'], after)
  for (const hours of [
    '',
    'mon-fri',
    '08:00-19:00',
    'mon-fri 8:00-19:00',
    'mon-fri 08:00-08:00',
    'mon-fri 08:60-19:00',
    'mon-fri 24:00-19:00',
    'mon-fri 08:00-25:00',
    'monday 08:00-19:00',
    'mon-fri 08:00-19:00,',
    Array.from({ length: 8 }, () => 'mon 08:00-19:00').join(','),
  ])
    assert.deepEqual(merged(office, { hours }).errors, ['/sleep/hours'], hours)
  for (const timezone of ['', 'Berlin', '+02:00', 'Europe/Nowhere', '../../etc/passwd'])
    assert.deepEqual(merged(office, { timezone }).errors, ['/sleep/timezone'], timezone)
  const all = merged(office, { after: 'soon', hours: 'never', timezone: 'Mars' })
  assert.deepEqual([all.after, all.errors.length], [office, 3])
  assert.match(all.details, /Example: 2h.*Example: mon-fri 08:00-19:00.*Example: Europe\/Berlin/)
})

test('a project file that says nothing of sleep takes it away when it prunes', () => {
  const before = { ...emptySpec('Shop'), sleep: office }
  assert.equal(pruneOf(before, {}).sleep, null)
  assert.deepEqual(pruneOf(before, { sleep: { after: '2h' } }).sleep, { after: '2h', hours: null, timezone: 'UTC' })
  assert.equal('sleep' in pruneOf(emptySpec('Shop'), {}), false)
})

const workload = { ref: { project: 'prj_1', workload: 'node' }, title: 'Node.js', ports: [] }
const seen = (state: 'running' | 'stopped') =>
  ({
    ref: workload.ref,
    state,
    health: 'healthy',
    since: '2026-05-04T10:00:00Z',
    pid: 1,
    ports: [],
    lastExit: null,
    reason: null,
    limited: undefined,
  }) as never

function statusOf(over: object) {
  return projectStatus({
    phase: 'ready',
    desired: 'sleeping',
    asleep: { since: '2026-05-04T18:00:00Z', because: 'unused' },
    sleep: office,
    operation: null,
    wanted: [workload],
    kinds: {},
    observed: [seen('stopped')],
    supervision: {},
    blockers: [],
    since: '2026-05-04T18:00:00Z',
    ...over,
  })
}

test('a project that sleeps is shown so, is wanted to run, and says since when, why and until when', () => {
  const { state, desired, asleep, health } = statusOf({})
  assert.deepEqual([state, desired, health], ['sleeping', 'running', 'none'])
  assert.deepEqual(asleep, { since: '2026-05-04T18:00:00Z', because: 'unused', wakesAt: '2026-05-05T06:00:00.000Z' })
  assert.equal(statusOf({ operation: { kind: 'sleep' }, observed: [seen('running')] }).state, 'stopping')
  assert.equal(statusOf({ observed: [seen('running')] }).state, 'degraded')
  assert.equal(statusOf({ desired: 'running', asleep: null, operation: { kind: 'wake' } }).state, 'starting')
  assert.deepEqual(statusOf({ desired: 'stopped' }).asleep, null)
  assert.equal(statusOf({ desired: 'stopped' }).state, 'stopped')
  assert.deepEqual((['running', 'stopped', 'sleeping'] as const).map(goalOf), ['running', 'stopped', 'stopped'])
})
