/** Says when lines are written, apart from requests: in runs, one after the other, with rests in between. */
export interface Scheduler {
  /** Something waits: a run will come. */
  want(): void
  /** Much waits: a run now, unless one is on its way already. */
  hurry(): void
  /** Settles when all that waits is written or lost. */
  flush(): Promise<void>
  /** Does something between two runs. */
  inTurn<Result>(act: () => Promise<Result>): Promise<Result>
}

export interface SchedulerOptions {
  /** Nothing is written before. */
  readonly ready: Promise<void>
  /** Writes what waits, and answers how many files it was. Never fails. */
  run(): Promise<number>
}

/** The rest before a run: ten milliseconds for each file, so that a thousand busy projects cost little. */
const shortestRest = 200
const longestRest = 10_000
const restPerFile = 10

export function createScheduler({ ready, run }: SchedulerOptions): Scheduler {
  let timer: NodeJS.Timeout | undefined
  let isHurried = false
  let last: Promise<unknown> = ready
  /** Of the last run: as many are likely to come again. */
  let lastFiles = 0

  const inTurn = <Result>(act: () => Promise<Result>): Promise<Result> => {
    const next = last.then(act)
    last = next.catch(() => {})
    return next
  }
  const flush = () =>
    inTurn(async () => {
      clearTimeout(timer)
      timer = undefined
      isHurried = false
      lastFiles = await run()
    })

  return {
    want() {
      timer ??= setTimeout(() => void flush(), Math.min(longestRest, Math.max(shortestRest, lastFiles * restPerFile)))
    },
    hurry() {
      if (isHurried) return
      isHurried = true
      void flush()
    },
    flush,
    inTurn,
  }
}
