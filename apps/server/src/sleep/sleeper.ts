import { setTimeout as delay } from 'node:timers/promises'
import { isSleepDue, isWakeDue, lastUseOf } from '@stackquay/domain'
import type { ProjectRow } from '@stackquay/store'
import { aborted } from '../aborted.ts'
import type { ProxyKeeper } from '../proxy-keeper.ts'
import { fallAsleep, type SleepDeps, wake } from './fall-asleep-and-wake.ts'
import type { ProjectUses } from './uses.ts'
import { openWakeCalls } from './wake-calls.ts'

export interface SleeperOptions extends SleepDeps {
  /** Null where the settings want no proxy. */
  readonly keeper: Pick<ProxyKeeper, 'control' | 'uses'> | null
  readonly uses: ProjectUses
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
  const run = async () => {
    await Promise.race([ready, aborted(life.signal)])
    const calls = openWakeCalls(options, life.signal)
    while (!life.signal.aborted) {
      await look(seenSince, known, options).catch((error: unknown) => onError(error, 'looking who sleeps'))
      await delay(lookEveryMs, undefined, { signal: life.signal, ref: false }).catch(() => undefined)
    }
    await calls.ended
  }
  // Projects that cannot be found are told of elsewhere.
  const running = run().catch(() => undefined)
  return {
    close: async () => {
      life.abort()
      await running
    },
  }
}

/** When projects were used last, and up to which time that is stored. */
type KnownUses = Map<string, { readonly last: Date; readonly stored: Date | null }>

async function look(seenSince: Date, known: KnownUses, options: SleeperOptions): Promise<void> {
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
  for (const { row } of awake) known.set(row.id, useOf(row, busy.has(row.id), proxied.get(row.id), known, options))
  await storeUses(known, options)
  for (const { row, sleep } of awake) {
    const lastUsedAt = known.get(row.id)?.last
    if (lastUsedAt === undefined || busy.has(row.id) || !isSleepDue(sleep, { lastUsedAt, seenSince }, now())) continue
    // Somebody who is quicker is no fault; it is looked at again.
    await fallAsleep(row.id, 'unused', proxied.get(row.id) ?? 0, options).catch((error: unknown) =>
      onError(error, `putting ${row.slug} to sleep`),
    )
  }
}

/** What is under way is use, whoever began it. */
async function busyNow({ store, uses, model }: SleeperOptions): Promise<ReadonlySet<string>> {
  const [operations, runs, terminals] = await Promise.all([
    store.operations.unfinished(),
    store.runs.unfinished(),
    store.terminals.all(),
  ])
  return new Set([
    ...operations.flatMap(({ project }) => project ?? []),
    ...runs.map(({ project }) => project),
    ...terminals.filter(({ endedAt }) => endedAt === null).map(({ project }) => project),
    ...model.all().flatMap(({ row }) => (uses.isUsed(row.id) ? [row.id] : [])),
  ])
}

/** One of which nothing is known was used now: it has just been told to sleep some day. */
function useOf(
  row: ProjectRow,
  isBusy: boolean,
  proxiedAt: number | undefined,
  known: KnownUses,
  { uses, now }: SleeperOptions,
): { readonly last: Date; readonly stored: Date | null } {
  const before = known.get(row.id)
  const stored = before?.stored ?? (row.lastUsedAt === null ? null : new Date(row.lastUsedAt))
  const other = uses.lastOf(row.id)
  const heard = [
    ...(stored === null || isBusy ? [now()] : [stored]),
    ...(before === undefined ? [] : [before.last]),
    ...(other === undefined ? [] : [other]),
    ...(proxiedAt === undefined ? [] : [new Date(proxiedAt)]),
  ]
  return { last: lastUseOf(heard, now()), stored }
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
