/** Removes shares whose time is over. */
export interface ShareClock {
  /** Another share is the next to end. */
  schedule(): void
  close(): Promise<void>
}

/** Looked at often, because clocks are set and machines sleep. */
const lookEveryMs = 1_000
const againAfterMs = 10_000

export function createShareClock({
  next,
  removeOver,
  now,
  onError,
  signal,
}: {
  /** When the next share ends, in ms since 1970; `Infinity` when there is none. */
  next(): number
  removeOver(): Promise<void>
  readonly now: () => Date
  onError(error: unknown, what: string): void
  readonly signal: AbortSignal
}): ShareClock {
  let timer: NodeJS.Timeout | undefined
  let removing: Promise<void> = Promise.resolve()
  const schedule = (atLeastMs = 0) => {
    clearTimeout(timer)
    const end = next()
    if (!Number.isFinite(end) || signal.aborted) return
    const wait = Math.max(atLeastMs, Math.min(lookEveryMs, Math.max(0, end - now().getTime())))
    timer = setTimeout(() => {
      removing = removeOver().then(
        () => schedule(),
        (error: unknown) => {
          onError(error, 'removing shares that have ended')
          schedule(againAfterMs)
        },
      )
    }, wait).unref()
  }
  return {
    schedule: () => schedule(),
    close: async () => {
      clearTimeout(timer)
      await removing
    },
  }
}
