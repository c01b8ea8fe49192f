/** Writes behind the requests’ backs: what waits is written in rounds, one after the other, with rests in between. */
export interface Rounds {
  /** Something waits: a round will come. */
  want(): void
  /** Much waits: a round now, unless one is on its way already. */
  hurry(): void
  /** Settles when all that waits is written or lost. */
  flush(): Promise<void>
  /** Does something between two rounds. */
  inTurn<Result>(act: () => Promise<Result>): Promise<Result>
}

export interface RoundsOptions {
  /** Nothing is written before. */
  readonly ready: Promise<void>
  /** Writes what waits, and answers how many files it was. Never fails. */
  round(): Promise<number>
}

/** The rest before a round: ten milliseconds for each file, so that a thousand busy projects cost little. */
const shortestRest = 200
const longestRest = 10_000
const restPerFile = 10

export function createRounds({ ready, round }: RoundsOptions): Rounds {
  let timer: NodeJS.Timeout | undefined
  let isHurried = false
  let last: Promise<unknown> = ready
  /** Of the last round: as many are likely to come again. */
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
      lastFiles = await round()
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
