import type { ProblemError } from '@stackquay/contract'

/**
 * Open streams outlive the look at their credentials. Each is looked at again three times a second, and ended when its token
 * was revoked, has expired, or its owner may no longer do what the stream shows.
 */
export interface RightsWatch {
  /** Answers the function that ends the watching. */
  add(stream: WatchedStream): () => void
  close(): void
}

export interface WatchedStream {
  /** Why it may no longer go on; null while it may. */
  check(): Promise<ProblemError | null>
  end(reason: ProblemError): void
}

export function createRightsWatch(log: { error(details: object, message: string): void }): RightsWatch {
  const streams = new Set<WatchedStream>()
  let timer: NodeJS.Timeout | undefined

  return {
    add(stream) {
      streams.add(stream)
      timer ??= setTimeout(lookAtAll, intervalMilliseconds).unref()
      return () => streams.delete(stream)
    },
    close() {
      clearTimeout(timer)
      streams.clear()
    },
  }

  async function lookAtAll(): Promise<void> {
    for (const stream of streams) {
      try {
        const reason = await stream.check()
        if (reason !== null && streams.delete(stream)) stream.end(reason)
      } catch (error) {
        log.error({ err: error }, 'The rights of an open stream could not be checked.')
      }
    }
    timer = streams.size > 0 ? setTimeout(lookAtAll, intervalMilliseconds).unref() : undefined
  }
}

const intervalMilliseconds = 300
