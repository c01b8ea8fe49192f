import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  afterEnding,
  afterIncident,
  type ChannelRules,
  dueAt,
  type Incident,
  messageOf,
  type NotificationGroup,
  quietEnd,
  quietHoursBlocker,
  type Told,
  tell,
  wants,
} from '@stackquay/domain'

const at = (text: string) => new Date(text)
const noon = Date.parse('2026-11-27T12:00:00.000Z')
const minute = 60_000
const rules = (over: Partial<ChannelRules> = {}): ChannelRules => ({
  events: ['down', 'failed', 'recovered', 'cron-failed', 'audit-broken'],
  projects: [],
  quietHours: null,
  cooldownMinutes: 30,
  ...over,
})
const down = (time: number, over: Partial<Incident> = {}): Incident => ({
  key: 'workload:prj_1:web',
  event: 'down',
  project: 'prj_1',
  mark: String(time),
  title: 'Shop: web ended',
  detail: 'It ended with exit code 1.',
  lasts: true,
  at: new Date(time).toISOString(),
  ...over,
})
const well = (time: number, quietly = false) => ({
  key: 'workload:prj_1:web',
  title: 'Shop: web runs again',
  at: new Date(time).toISOString(),
  quietly,
})

interface Happening {
  readonly time: number
  readonly what: 'down' | 'well' | 'stopped'
}

/** A channel over time: what is told when, with a clock that stands at each event and at each moment that is due. */
function play(happenings: readonly Happening[], until: number, its: ChannelRules) {
  const told: (Told & { readonly time: number })[] = []
  let group: NotificationGroup | null = null
  const settle = (to: number) => {
    for (;;) {
      const due: Date | null = group === null ? null : dueAt(group, its)
      if (due === null || due.getTime() > to) return
      const result = tell(group!, its, due)
      if (result.told !== null) told.push({ ...result.told, time: due.getTime() })
      group = result.after
    }
  }
  for (const { time, what } of happenings) {
    settle(time)
    if (what === 'down') group = afterIncident(group, down(time))
    else if (group !== null) group = afterEnding(group, well(time, what === 'stopped'))
    settle(time)
  }
  settle(until)
  return { told, group }
}

test('a crash loop of 1,000 failures a minute is one message in a cool-down, and every failure is counted in one', () => {
  const failures = Array.from({ length: 90_000 }, (_, n) => noon + n * 60).flatMap((time) => [
    { time, what: 'down' as const },
    { time: time + 30, what: 'well' as const },
  ])
  const { told } = play(failures, noon + 3 * 60 * minute, rules())
  const troubles = told.filter(({ event }) => event === 'down')
  assert.equal(
    troubles.reduce((sum, { count }) => sum + count, 0),
    90_000,
  )
  for (const [index, { time }] of troubles.entries())
    if (index > 0) assert.ok(time - troubles[index - 1]!.time >= 30 * minute, `message ${index} comes too early`)
  // 90 minutes of it: at once, and at the end of each cool-down that something happened in.
  assert.deepEqual(
    told.map(({ event, time }) => [event, Math.round((time - noon) / minute)]),
    [
      ['down', 0],
      ['down', 30],
      ['down', 60],
      ['down', 90],
      ['recovered', 91],
    ],
  )
  assert.match(troubles[1]!.detail, /29999 times since 2026-11-27 12:00 UTC/)
})

test('the first failure is told at once, the next within the cool-down at its end', () => {
  const { told } = play(
    [
      { time: noon, what: 'down' },
      { time: noon + 5 * minute, what: 'down' },
    ],
    noon + 60 * minute,
    rules(),
  )
  assert.deepEqual(
    told.map(({ time, count }) => [(time - noon) / minute, count]),
    [
      [0, 1],
      [30, 1],
    ],
  )
})

test('recovered is told when it was well for a minute, only after a told failure, and not when a person stopped it', () => {
  const failure = { time: noon, what: 'down' as const }
  const recovery = { time: noon + 2 * minute, what: 'well' as const }
  const events = (happenings: readonly Happening[], its = rules()) =>
    play(happenings, noon + 24 * 60 * minute, its).told.map(({ event, time }) => [event, (time - noon) / minute])
  assert.deepEqual(events([failure, recovery]), [
    ['down', 0],
    ['recovered', 3],
  ])
  assert.deepEqual(events([failure, { ...recovery, what: 'stopped' }]), [['down', 0]])
  assert.deepEqual(events([recovery]), [])
  assert.deepEqual(events([failure, recovery], rules({ events: ['down'] })), [['down', 0]])
  // Down again before the minute is over: it did not recover.
  assert.deepEqual(events([failure, recovery, { time: noon + 2.5 * minute, what: 'down' }]), [
    ['down', 0],
    ['down', 30],
  ])
})

test('the same thing seen twice counts once, and nothing is remembered of what is over', () => {
  const first = afterIncident(null, down(noon))
  assert.equal(afterIncident(first, down(noon)), first)
  const { group } = play(
    [
      { time: noon, what: 'down' },
      { time: noon + minute, what: 'well' },
    ],
    noon + 31 * minute,
    rules(),
  )
  assert.equal(group, null)
})

test('what happens in quiet hours is told at their end, with what became of it; urgent things are told at once', () => {
  const quietHours = { from: '22:00', to: '07:00', timezone: 'Europe/Berlin' }
  const night = Date.parse('2026-11-27T23:30:00Z')
  const { told } = play(
    [
      { time: night, what: 'down' },
      { time: night + 5 * minute, what: 'down' },
      { time: night + 10 * minute, what: 'well' },
    ],
    night + 24 * 60 * minute,
    rules({ quietHours }),
  )
  assert.deepEqual(
    told.map(({ event, time, count }) => [event, new Date(time).toISOString(), count]),
    [['down', '2026-11-28T06:00:00.000Z', 2]],
  )
  assert.match(told[0]!.detail, /web runs again since 2026-11-27 23:40 UTC/)
  const broken = afterIncident(null, down(night, { event: 'audit-broken', lasts: false }))
  assert.equal(dueAt(broken, rules({ quietHours }))?.getTime(), night)
})

test('quiet hours follow the clock on the wall over both changes of summer time', () => {
  const end = (from: string, to: string, time: string) =>
    quietEnd({ from, to, timezone: 'Europe/Berlin' }, at(time))?.toISOString() ?? null
  // The night of 29 March 2026 has no 02:00 to 03:00; that of 25 October has it twice.
  assert.equal(end('22:00', '07:00', '2026-03-28T22:30:00Z'), '2026-03-29T05:00:00.000Z')
  assert.equal(end('22:00', '07:00', '2026-10-24T21:30:00Z'), '2026-10-25T06:00:00.000Z')
  assert.equal(end('22:00', '02:30', '2026-03-29T00:30:00Z'), '2026-03-29T01:00:00.000Z')
  assert.equal(end('01:00', '02:30', '2026-10-25T00:15:00Z'), '2026-10-25T00:30:00.000Z')
  assert.equal(end('01:00', '02:30', '2026-10-25T01:15:00Z'), '2026-10-25T01:30:00.000Z')
  assert.equal(end('22:00', '07:00', '2026-11-27T06:00:00Z'), null)
  assert.equal(end('07:10', '07:05', '2026-11-27T06:20:30Z'), '2026-11-28T06:05:00.000Z')
  assert.equal(end('09:00', '17:00', '2026-11-27T07:59:59Z'), null)
  assert.equal(end('09:00', '17:00', '2026-11-27T08:00:00Z'), '2026-11-27T16:00:00.000Z')
  assert.equal(quietHoursBlocker({ from: '22:00', to: '07:00', timezone: 'Mars/Base' })?.field, 'timezone')
  assert.equal(quietHoursBlocker({ from: '22:00', to: '22:00', timezone: 'UTC' })?.field, 'to')
})

test('a channel gets the events and projects that it names', () => {
  assert.equal(wants(rules(), down(noon)), true)
  assert.equal(wants(rules({ events: ['failed'] }), down(noon)), false)
  assert.equal(wants(rules({ projects: ['prj_2'] }), down(noon)), false)
  assert.equal(wants(rules({ projects: ['prj_2'] }), down(noon, { project: null })), false)
})

test('what is due together is one message, with an end', () => {
  const one = (n: number): Told => ({
    event: 'down',
    project: 'prj_1',
    title: `Project ${n} is down`,
    detail: 'x'.repeat(500),
    at: new Date(noon).toISOString(),
    count: 1,
  })
  assert.deepEqual(messageOf([one(1)]).title, 'Project 1 is down')
  const [first, ...others] = Array.from({ length: 400 }, (_, n) => one(n))
  const { event, title, text } = messageOf([first!, ...others])
  assert.deepEqual([event, title], ['summary', '400 things happened'])
  assert.equal(text.split('\n').length, 21)
  assert.ok(text.length < 3_000)
  assert.match(text, /And 380 more; see the page\.$/)
})
