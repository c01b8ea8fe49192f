import { setTimeout as delay } from 'node:timers/promises'
import type { Store } from '@stackquay/store'
import { aborted } from '../aborted.ts'
import { isRestored } from '../resume/restored.ts'
import { type History, openHistory } from './history.ts'
import { createPoints } from './points.ts'
import { createReadings, type ReadAll, type ReadingsDeps } from './readings.ts'

export interface MetricsKeeperOptions extends ReadingsDeps {
  readonly store: Store
  /** Of the history. */
  readonly file: string
  /** How far it goes back. */
  readonly days?: () => number
  readonly now: () => Date
  /** Nothing is read before the projects were found. */
  readonly ready: Promise<void>
  onError(error: unknown, what: string): void
}

export interface MetricsKeeper {
  /** What was used up to now, or some seconds ago. */
  read(): Promise<ReadAll>
  readonly history: Pick<History, 'read' | 'state'>
  /** What is done at each full minute. */
  look(): Promise<void>
  /** Ends with the look that is under way. */
  close(): Promise<void>
}

/** A look that comes so late belongs to the minute that it comes in. */
const lateSeconds = 30
/** How far an hour on the wall may be from an hour that passed: beyond, the clock was set, and what is too old is not known. */
const evenSeconds = 600

/** Writes once a minute what runs has used. A service that was killed, asleep or away has a gap, and no wrong numbers. */
export function openMetricsKeeper(options: MetricsKeeperOptions): MetricsKeeper {
  const { store, now, ready, onError, steady = () => performance.now() / 1000 } = options
  const life = new AbortController()
  const history = openHistory(options.file, onError, options.days)
  const read = createReadings({ ...options, signal: life.signal })
  const pointsOf = createPoints()
  const clock = createClock()
  let tidying = Promise.resolve()
  /** One after the other. */
  const tidy = (drop: boolean): Promise<void> => {
    tidying = tidying
      .then(async () => {
        const isKnown = await knownProjects(store)
        await history.tidy({ now: seconds(now()), drop, isKnown })
      })
      .catch((error: unknown) => onError(error, 'tidying the history of metrics'))
    return tidying
  }
  const stopHearing = store.onCommit((events) => {
    if (events.some(({ type }) => type === 'project.deleted' || type.startsWith('trash.'))) void tidy(false)
  })
  const look = async () => {
    const found = await read()
    const at = seconds(now())
    const minute = Math.floor((at - lateSeconds) / 60) * 60
    history.write(pointsOf(found, minute))
    const hourly = clock.hourly(at, steady())
    if (hourly === null) return
    await tidy(hourly.isEven)
  }
  const run = async () => {
    await Promise.race([ready, aborted(life.signal)])
    // What the first minute is compared with.
    if (!life.signal.aborted)
      await read()
        .then((first) => void pointsOf(first, 0))
        .catch(() => undefined)
    while (!life.signal.aborted) {
      // A little after it: timers may be early, and a minute has one look.
      const rest = 60_050 - (now().getTime() % 60_000)
      await delay(rest, undefined, { signal: life.signal, ref: false }).catch(() => undefined)
      if (life.signal.aborted) return
      await look().catch((error: unknown) => {
        if (!life.signal.aborted) onError(error, 'reading what workloads use')
      })
    }
  }
  // Projects that cannot be found are told of elsewhere.
  const running = run().catch(() => undefined)
  return {
    read,
    history,
    look,
    close: async () => {
      stopHearing()
      life.abort()
      await running
      await tidying
      history.close()
    },
  }
}

/** Null where what this state does not know may be somebody's: it was restored from a backup. */
async function knownProjects(store: Store): Promise<((id: string) => boolean) | null> {
  if (await isRestored(store)) return null
  const [projects, items] = await Promise.all([store.projects.all(), store.trash.all()])
  const ids = new Set([...projects.map(({ id }) => id), ...items.map(({ project }) => project)])
  return (id) => ids.has(id)
}

/** Says once an hour that it is time to tidy, and whether the clock on the wall went as evenly since as time itself. */
function createClock() {
  let last: { readonly wall: number; readonly steady: number } | null = null
  return {
    hourly(wall: number, steady: number): { readonly isEven: boolean } | null {
      const before = last
      if (before !== null && Math.floor(before.wall / 3_600) === Math.floor(wall / 3_600)) return null
      last = { wall, steady }
      const drift = before === null ? Number.POSITIVE_INFINITY : wall - before.wall - (steady - before.steady)
      return { isEven: Math.abs(drift) < evenSeconds }
    },
  }
}

function seconds(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}
