/** Wakes all who wait for something to change; each looks for himself what did. */
export interface Signal {
  tell(): void
  /** Until the next `tell`, or until it is aborted. */
  next(signal: AbortSignal): Promise<void>
  /** Until so many milliseconds are over; sooner when it is told and the reason to wait no longer holds. */
  elapsed(milliseconds: number, signal: AbortSignal, holds: () => boolean): Promise<void>
}

export function createSignal(): Signal {
  let { promise, resolve } = Promise.withResolvers<void>()
  const next = async (signal: AbortSignal) => {
    if (signal.aborted) return
    const { promise: aborted, resolve: abort } = Promise.withResolvers<void>()
    const onAbort = () => abort()
    signal.addEventListener('abort', onAbort, { once: true })
    await Promise.race([promise, aborted])
    signal.removeEventListener('abort', onAbort)
  }
  return {
    tell: () => {
      resolve()
      ;({ promise, resolve } = Promise.withResolvers<void>())
    },
    next,
    async elapsed(milliseconds, signal, holds) {
      const over = new AbortController()
      const timer = setTimeout(() => over.abort(), milliseconds)
      const either = AbortSignal.any([signal, over.signal])
      while (!either.aborted && holds()) await next(either)
      clearTimeout(timer)
    },
  }
}
