import type { Engine, Reading } from '@stackquay/engine-api'
import type { TotalsAnswer } from '@stackquay/proxy/control'
import type { ProxyKeeper } from '../proxy-keeper.ts'

/** What was used up to a moment, by all that runs. */
export interface ReadAll {
  /** On a clock that only goes forward, in seconds. */
  readonly at: number
  readonly workloads: readonly Reading[]
  /** Null while the proxy does not say. */
  readonly requests: TotalsAnswer['projects'] | null
}

export interface ReadingsDeps {
  readonly engine: Pick<Engine, 'readings'>
  /** Null where the settings want no proxy. */
  readonly keeper: Pick<ProxyKeeper, 'totals'> | null
  /** Ends a reading that is under way. */
  readonly signal?: AbortSignal
  /** Seconds, on a clock that only goes forward. */
  readonly steady?: () => number
}

/** Reads at most once in so many seconds, however many ask: several may scrape one service. */
const freshSeconds = 5

export function createReadings({
  engine,
  keeper,
  signal: life,
  steady = () => performance.now() / 1000,
}: ReadingsDeps) {
  let last: { readonly at: number; readonly read: Promise<ReadAll> } | null = null
  const readAll = async (): Promise<ReadAll> => {
    const limit = AbortSignal.timeout(30_000)
    const signal = life === undefined ? limit : AbortSignal.any([limit, life])
    const requests = keeper === null ? null : ((await keeper.totals()) ?? null)
    const workloads = await engine.readings(signal)
    return { at: steady(), workloads, requests }
  }
  return (): Promise<ReadAll> => {
    const now = steady()
    if (last === null || now - last.at >= freshSeconds) {
      const read = readAll()
      const mine = { at: now, read }
      last = mine
      // What failed is asked for again.
      read.catch(() => {
        if (last === mine) last = null
      })
    }
    return last.read
  }
}
