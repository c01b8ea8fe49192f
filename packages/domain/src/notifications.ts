import type { NotificationEvent, QuietHours } from '@stackquay/contract'
import { isTimeZone } from './time-zone.ts'

/*
 * Who is told what, and when. Values in, values out: the clock is the caller's, and nothing here waits.
 *
 * Whatever belongs to one thing (a program of a project, the backups of a project, the disk) is one group in each channel. The first
 * event of a group is told at once; what follows within the cool-down is counted and told in one message at its end.
 */

/** Something that happened and that people may want to be told. */
export interface Incident {
  /** The thing that it happened to: its group. */
  readonly key: string
  readonly event: NotificationEvent
  readonly project: string | null
  /** The same mark twice is the same thing seen twice; it counts once. */
  readonly mark: string
  readonly title: string
  readonly detail: string
  /** It goes on until it is told to be over: then that is told too. */
  readonly lasts: boolean
  readonly at: string
}

/** What is over. */
export interface Ending {
  readonly key: string
  readonly title: string
  readonly at: string
  /** Ended by a person, or with what it was about: nobody is told that it is well again. */
  readonly quietly: boolean
}

export interface ChannelRules {
  readonly events: readonly string[]
  /** Ids; empty for all. */
  readonly projects: readonly string[]
  readonly quietHours: QuietHours | null
  readonly cooldownMinutes: number
}

/** All that is remembered of one thing in one channel. */
export interface NotificationGroup extends Omit<Incident, 'at'> {
  /** It was not told to be over. */
  readonly open: boolean
  /** Untold events. */
  readonly count: number
  /** Of the untold ones; of the last told without any. */
  readonly firstAt: string
  readonly lastAt: string
  /** When its trouble was last told; null while it never was. */
  readonly toldAt: string | null
  /** What was told and not yet told to be over. */
  readonly told: boolean
  readonly endedAt: string | null
  readonly endedTitle: string | null
}

/** So long it has to be well before it is told to be: a program in a crash loop is up for moments. */
export const settleSeconds = 60

/** What nobody waits for the morning with. */
const urgent: ReadonlySet<string> = new Set<NotificationEvent>(['audit-broken'])

export function isUrgent(event: string): boolean {
  return urgent.has(event)
}

export function wants({ events, projects }: ChannelRules, { event, project }: Incident): boolean {
  return events.includes(event) && (projects.length === 0 || (project !== null && projects.includes(project)))
}

/** The group after one more event; the same object when it is none. */
export function afterIncident(group: NotificationGroup | null, incident: Incident): NotificationGroup {
  const { at, ...facts } = incident
  if (group === null) {
    return {
      ...facts,
      open: incident.lasts,
      count: 1,
      firstAt: at,
      lastAt: at,
      toldAt: null,
      told: false,
      endedAt: null,
      endedTitle: null,
    }
  }
  if (group.mark === incident.mark && (group.open || !incident.lasts) && group.endedAt === null) return group
  return {
    ...group,
    ...facts,
    open: incident.lasts,
    count: group.count + 1,
    firstAt: group.count === 0 ? at : group.firstAt,
    lastAt: at,
    endedAt: null,
    endedTitle: null,
  }
}

/** The group after its thing was seen well; the same object when nothing changes. */
export function afterEnding(group: NotificationGroup, { at, title, quietly }: Ending): NotificationGroup {
  if (!group.open) return group
  if (quietly) return { ...group, open: false, told: false, endedAt: null, endedTitle: null }
  return group.endedAt === null ? { ...group, endedAt: at, endedTitle: title } : group
}

/** When the group has something to tell or to forget; null when not before something else happens. */
export function dueAt(group: NotificationGroup, rules: ChannelRules): Date | null {
  const cooled = group.toldAt === null ? 0 : Date.parse(group.toldAt) + rules.cooldownMinutes * 60_000
  const time =
    group.count > 0
      ? Math.max(Date.parse(group.firstAt), cooled)
      : group.endedAt !== null
        ? Date.parse(group.endedAt) + settleSeconds * 1000
        : group.open
          ? null
          : cooled
  if (time === null) return null
  const due = new Date(time)
  if (isUrgent(group.event) || !isTelling(group)) return due
  return quietEnd(rules.quietHours, due) ?? due
}

/** Whether people hear of it when it is due. */
function isTelling({ count, endedAt, told }: NotificationGroup): boolean {
  return count > 0 || (endedAt !== null && told)
}

/** What one group says when it is due. */
export interface Told {
  readonly event: NotificationEvent
  readonly project: string | null
  readonly title: string
  readonly detail: string
  readonly at: string
  /** How many events it stands for. */
  readonly count: number
}

/** What a group that is due tells, if anything, and what is remembered of it; null when nothing is. */
export function tell(
  group: NotificationGroup,
  rules: ChannelRules,
  now: Date,
): { readonly told: Told | null; readonly after: NotificationGroup | null } {
  const { event, project, title, count, firstAt, lastAt } = group
  const isOver = group.endedAt !== null && now.getTime() >= Date.parse(group.endedAt) + settleSeconds * 1000
  if (count > 0) {
    // In a crash loop it is up for moments: those are no end.
    const again = isOver ? [`${group.endedTitle ?? title} since ${clockText(group.endedAt!)}.`] : []
    const isOpen = group.open && !isOver
    const more = count === 1 ? [] : [`${count} times since ${clockText(firstAt)}.`]
    return {
      told: { event, project, title, detail: [group.detail, ...more, ...again].join(' '), at: lastAt, count },
      after: {
        ...group,
        count: 0,
        toldAt: now.toISOString(),
        told: isOpen,
        open: isOpen,
        endedAt: isOpen ? group.endedAt : null,
        endedTitle: isOpen ? group.endedTitle : null,
      },
    }
  }
  if (group.open && isOver) {
    const isWanted = group.told && rules.events.includes('recovered')
    const after = { ...group, open: false, told: false, endedAt: null, endedTitle: null }
    const over = {
      event: 'recovered',
      project,
      title: group.endedTitle ?? title,
      detail: '',
      at: group.endedAt!,
    } as const
    return { told: isWanted ? { ...over, count: 1 } : null, after }
  }
  return { told: null, after: group.open ? group : null }
}

/** Without seconds, which nobody reads: `2026-11-27 09:15 UTC`. */
function clockText(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`
}

/** What keeps these from being quiet hours, and in which field; null when nothing does. */
export function quietHoursBlocker({ from, to, timezone }: QuietHours): { field: string; detail: string } | null {
  if (!isTimeZone(timezone))
    return { field: 'timezone', detail: `"${timezone}" is not a time zone. Example: Europe/Berlin` }
  return from === to ? { field: 'to', detail: 'Quiet hours that end when they begin are none.' } : null
}

/** The end of the quiet hours that `at` lies in; null outside of them. By the clock on the wall, whatever it is set to meanwhile. */
export function quietEnd(quiet: QuietHours | null, at: Date): Date | null {
  if (quiet === null) return null
  const [from, to] = [minutesOf(quiet.from), minutesOf(quiet.to)]
  const isQuiet = (time: number) => {
    const wall = wallMinutes(quiet.timezone, new Date(time))
    return from < to ? wall >= from && wall < to : wall >= from || wall < to
  }
  const minute = 60_000
  if (!isQuiet(at.getTime())) return null
  let time = Math.floor(at.getTime() / minute) * minute
  // No step passes over the hours that are not quiet.
  const stride = Math.min(15, (from - to + 1440) % 1440) * minute
  const last = time + 26 * 60 * minute
  while (isQuiet(time + stride) && time < last) time += stride
  while (isQuiet(time)) time += minute
  return new Date(time)
}

function minutesOf(wallTime: string): number {
  const [hours = 0, minutes = 0] = wallTime.split(':').map(Number)
  return hours * 60 + minutes
}

const clocks = new Map<string, Intl.DateTimeFormat>()

function wallMinutes(timezone: string, at: Date): number {
  let clock = clocks.get(timezone)
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat('en-GB', {
      timeZone: timezone,
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    })
    clocks.set(timezone, clock)
  }
  return minutesOf(clock.format(at))
}

/** What one message says, before a channel puts it into its own words. */
export interface NotificationText {
  /** `summary` of several things, `test` of none. */
  readonly event: NotificationEvent | 'summary' | 'test'
  readonly project: string | null
  readonly title: string
  readonly text: string
}

const mostLines = 20
const mostLine = 140
const mostTitle = 200
const mostText = 3000

/** Everything that is due in one channel is one message. */
export function messageOf(told: readonly [Told, ...Told[]]): NotificationText {
  const [first, ...others] = told
  if (others.length === 0) {
    const { event, project, title, detail } = first
    return { event, project, title: cut(title, mostTitle), text: cut(detail, mostText) }
  }
  const lines = told
    .slice(0, mostLines)
    .map(({ title, detail }) => cut(detail === '' ? title : `${title}. ${detail}`, mostLine))
  const more = told.length > mostLines ? [`And ${told.length - mostLines} more; see the page.`] : []
  return {
    event: 'summary',
    project: null,
    title: `${told.length} things happened`,
    text: [...lines, ...more].join('\n'),
  }
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
