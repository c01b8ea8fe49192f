import { setTimeout as delay } from 'node:timers/promises'
import { isSleepDue, isWakeDue, lastUseOf } from '@stackquay/domain'
import type { ProjectRow } from '@stackquay/store'
import { aborted } from '../aborted.ts'
import type { ProxyKeeper } from '../proxy-keeper.ts'
import { fallAsleep, type SleepDeps, wake } from './fall-asleep-and-wake.ts'
import { type MemoryForAwake, shortOfMemory } from './short-of-memory.ts'
import type { ProjectUses } from './uses.ts'
import { openWakeCalls } from './wake-calls.ts'

export interface SleeperOptions extends SleepDeps {
  /** Null where the settings want no proxy. */
  readonly keeper: Pick<ProxyKeeper, 'control' | 'uses'> | null
  readonly uses: ProjectUses
  /** Null: however much they take. */
  readonly memory: MemoryForAwake
  /** Nothing is put to sleep before what the service of before had under way goes on. */
  readonly ready: Promise<void>
  /** Default: 20 seconds. */
  readonly lookEveryMs?: number | undefined
  onError(error: unknown, what: string): void
}

export interface Sleeper {
  /** Ends with the look that is under way. */
  close(): Promise<void>
}

/**
 * Puts projects to sleep that nobody uses, and wakes them when their hours begin or when somebody is at the door. What is to be done is
 * found by looking at the clock and at what is stored, so a service that is killed or away for a month loses nothing.
 */
export function openSleeper(options: SleeperOptions): Sleeper {
  const { ready, onError, lookEveryMs = 20_000 } = options
  const life = new AbortController()
  const seenSince = options.now()
  const known: KnownUses = new Map()
  const heard = new Map<string, Date>()
  const stopHearing = options.store.onCommit((events) => {
    for (const { project, type, data } of events)
      if (project !== null && isUse(type, data)) heard.set(project, options.now())
  })
  const run = async () => {
    await Promise.race([ready, aborted(life.signal)])
    const calls = openWakeCalls(options, life.signal)
    while (!life.signal.aborted) {
      await look({ seenSince, known, heard }, options).catch((error: unknown) => onError(error, 'looking who sleeps'))
      await delay(lookEveryMs, undefined, { signal: life.signal, ref: false }).catch(() => undefined)
    }
    await calls.ended
  }
  // Projects that cannot be found are told of elsewhere.
  const running = run().catch(() => undefined)
  return {
    close: async () => {
      stopHearing()
      life.abort()
      await running
    },
  }
}

/** What people do with a project. What the service does by itself, such as a backup at night, keeps none awake for ever. */
function isUse(type: string, data: unknown): boolean {
  if (type === 'operation.changed') {
    // Its beginning and its end say who asked for it.
    const { actor = byItself } = data as { readonly actor?: string }
    return actor !== byItself
  }
  if (type === 'run.changed') {
    // Of a cron job at its time.
    const { dueAt = null } = data as { readonly dueAt?: string | null }
    return dueAt === null
  }
  return type.startsWith('terminal.')
}

const byItself = 'system'

interface Memory {
  readonly seenSince: Date
  readonly known: KnownUses
  /** When something was done with a project last, by those whom this service heard of. */
  readonly heard: Map<string, Date>
}

/** When projects were used last, and up to which time that is stored. */
type KnownUses = Map<string, { readonly last: Date; readonly stored: Date | null }>

async function look({ seenSince, known, heard }: Memory, options: SleeperOptions): Promise<void> {
  const { model, keeper, now, onError } = options
  const all = model.all().flatMap(({ row, resolved }) => {
    const { sleep } = row.spec
    return sleep === undefined || row.phase !== 'ready' || resolved.workloads.length === 0 ? [] : [{ row, sleep }]
  })
  for (const { row, sleep } of all) {
    const { asleep } = row
    if (row.desired !== 'sleeping' || asleep === null || !isWakeDue(sleep, new Date(asleep.since), now())) continue
    await wake(row.id, 'hours', options).catch((error: unknown) => onError(error, `waking ${row.slug}`))
  }
  const awake = all.filter(({ row }) => row.desired === 'running')
  for (const id of known.keys()) if (!awake.some(({ row }) => row.id === id)) known.delete(id)
  if (awake.length === 0) return
  const seen = keeper === null ? [] : await keeper.uses()
  // A proxy that does not say what is used may be passing requests on all the same.
  if (seen === undefined) return
  const busy = await busyNow(options)
  const proxied = new Map(seen.map(({ project, lastAt }) => [project, lastAt]))
  for (const { row } of awake) {
    const uses = [...timeOf(heard.get(row.id)), ...timeOf(options.uses.lastOf(row.id)), ...timeOf(proxied.get(row.id))]
    known.set(row.id, useOf(row, busy.get(row.id) === 'use' ? [...uses, now()] : uses, known.get(row.id), now()))
  }
  await storeUses(known, options)
  const idle = awake.flatMap(({ row, sleep }) => {
    const lastUsedAt = known.get(row.id)?.last
    return lastUsedAt === undefined || busy.has(row.id) ? [] : [{ row, sleep, facts: { lastUsedAt, seenSince } }]
  })
  const due = idle.filter(({ sleep, facts }) => isSleepDue(sleep, facts, now())).map(({ row }) => row.id)
  const early = await shortOfMemory(idle, due, options)
  for (const { row } of idle) {
    const cause = due.includes(row.id) ? 'unused' : early.includes(row.id) ? 'memory' : null
    if (cause === null) continue
    // Somebody who is quicker is no fault; it is looked at again.
    await fallAsleep(row.id, cause, proxied.get(row.id) ?? 0, options).catch((error: unknown) =>
      onError(error, `putting ${row.slug} to sleep`),
    )
  }
}

/** What is under way keeps a project awake. It is use, too, unless the service began it by itself. */
async function busyNow({ store, uses, model }: SleeperOptions): Promise<ReadonlyMap<string, 'use' | 'work'>> {
  const [operations, runs, terminals] = await Promise.all([
    store.operations.unfinished(),
    store.runs.unfinished(),
    store.terminals.all(),
  ])
  const begun = [...operations, ...runs]
  const used = [
    ...begun.filter(({ actor }) => actor !== byItself).flatMap(({ project }) => project ?? []),
    ...terminals.filter(({ endedAt }) => endedAt === null).map(({ project }) => project),
    ...model.all().flatMap(({ row }) => (uses.isUsed(row.id) ? [row.id] : [])),
  ]
  return new Map<string, 'use' | 'work'>([
    ...begun.flatMap(({ project }) => (project === null ? [] : [[project, 'work'] as const])),
    ...used.map((project) => [project, 'use'] as const),
  ])
}

/** One of which nothing is known was used now: it has just been told to sleep some day. */
function useOf(
  row: ProjectRow,
  uses: readonly Date[],
  before: { readonly last: Date; readonly stored: Date | null } | undefined,
  now: Date,
): { readonly last: Date; readonly stored: Date | null } {
  const last = [...uses, ...timeOf(row.lastUsedAt), ...timeOf(before?.last)]
  return {
    last: last.length === uses.length ? now : lastUseOf(last, now),
    stored: before?.stored ?? timeOf(row.lastUsedAt)[0] ?? null,
  }
}

function timeOf(time: Date | string | number | null | undefined): readonly Date[] {
  return time == null ? [] : [new Date(time)]
}

/** A write for every look would cost more than it tells. */
const storeAfterMs = 60_000

async function storeUses(known: KnownUses, { store }: SleeperOptions): Promise<void> {
  const due = [...known].filter(
    ([, { last, stored }]) => stored === null || stored > last || last.getTime() - stored.getTime() >= storeAfterMs,
  )
  if (due.length === 0) return
  await store.transaction((tx) => tx.projects.used(due.map(([id, { last }]) => ({ id, at: last.toISOString() }))))
  for (const [id, { last }] of due) known.set(id, { last, stored: last })
}
