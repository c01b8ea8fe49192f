import type { Position, StreamChunk, StreamSource } from './relay.ts'

/** A chunk that a reader has until it drops it. */
export interface HeldChunk<At extends Position> {
  readonly chunk: StreamChunk<At>
  drop(): void
}

/** Chunks by the position in front of them, each made once while somebody waits for it or it is among the newest. */
export function createSharedChunks<At extends Position>(
  source: StreamSource<At>,
  limits: { keepBytes(): number; most(): number },
) {
  /** In the order they were asked for. */
  const chunks = new Map<At, Entry<At>>()
  let kept = 0

  const make = (after: At): Entry<At> => {
    const stop = new AbortController()
    // A source may throw before it answers a promise.
    const made = (async () => source.next(after, stop.signal))()
    const entry: Entry<At> = { made, stop, bytes: null, waiting: 0, users: 0, release: null }
    chunks.set(after, entry)
    made.then(
      (chunk) => {
        entry.bytes = chunk === null ? 0 : sizeOf(chunk)
        entry.release = chunk?.release ?? null
        // The end is asked for again: what has ended may be looked at later, when more is known.
        if (chunk === null) chunks.delete(after)
        if (chunks.get(after) !== entry) return
        kept += entry.bytes
        trim()
      },
      // Everybody who waits gets the error; whoever comes later tries anew.
      () => {
        entry.bytes = 0
        if (chunks.get(after) === entry) chunks.delete(after)
      },
    )
    return entry
  }

  const trim = () => {
    const [limit, most] = [limits.keepBytes(), limits.most()]
    for (const [position, entry] of chunks) {
      // Chunks without frames take a place too.
      if (kept <= limit && chunks.size <= most) return
      if (entry.bytes !== null) forget(position, entry)
    }
  }

  const forget = (position: At, entry: Entry<At>) => {
    if (chunks.get(position) !== entry) return
    chunks.delete(position)
    kept -= entry.bytes ?? 0
    releaseUnused(position, entry)
  }

  const releaseUnused = (position: At, entry: Entry<At>) => {
    if (entry.users > 0 || chunks.get(position) === entry) return
    entry.release?.()
    entry.release = null
  }

  return {
    trim,
    after: async (after: At, signal: AbortSignal): Promise<HeldChunk<At> | null> => {
      const entry = chunks.get(after) ?? make(after)
      entry.users += 1
      entry.waiting += 1
      try {
        const chunk = await unlessAborted(entry.made, signal)
        if (chunk === null) return null
        const drop = () => {
          entry.users -= 1
          releaseUnused(after, entry)
        }
        return { chunk, drop }
      } finally {
        entry.waiting -= 1
        // Nobody waits for what is still to come: the source is let go.
        if (entry.waiting === 0 && entry.bytes === null) {
          forget(after, entry)
          entry.stop.abort()
        }
      }
    },
  }
}

async function unlessAborted<T>(made: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const leave = () => reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()
  try {
    return await Promise.race([made, aborted])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** Still being made while `bytes` is null. */
interface Entry<At extends Position> {
  readonly made: Promise<StreamChunk<At> | null>
  readonly stop: AbortController
  bytes: number | null
  waiting: number
  /** Readers that wait for it or send it. */
  users: number
  release: (() => void) | null
}

function sizeOf({ frames }: StreamChunk<Position>): number {
  return frames.reduce((sum, frame) => sum + frame.bytes.length, 0)
}
