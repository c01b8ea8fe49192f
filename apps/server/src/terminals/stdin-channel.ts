/**
 * Standard input on its way to a program. Whoever writes is held once so much lies here unread; when the program is gone
 * everything else is dropped without a word, as by a closed pipe that nobody asks about.
 */
export interface StdinChannel extends AsyncIterable<Uint8Array> {
  write(bytes: Uint8Array): Promise<void>
  /** No more comes. */
  end(): void
  /** Nobody reads any more. */
  drop(): void
}

export function createStdinChannel(keptBytes = 1 << 20): StdinChannel {
  const waiting: Uint8Array[] = []
  let bytesWaiting = 0
  let state: 'open' | 'ended' | 'dropped' = 'open'
  let arrived = Promise.withResolvers<void>()
  let taken = Promise.withResolvers<void>()
  const tell = () => {
    arrived.resolve()
    arrived = Promise.withResolvers<void>()
  }
  const drop = () => {
    state = 'dropped'
    waiting.length = 0
    bytesWaiting = 0
    taken.resolve()
    tell()
  }

  return {
    write: async (bytes) => {
      if (state !== 'open') return
      waiting.push(bytes)
      bytesWaiting += bytes.length
      tell()
      while (bytesWaiting > keptBytes) await taken.promise
    },
    end: () => {
      if (state === 'open') state = 'ended'
      tell()
    },
    drop,
    async *[Symbol.asyncIterator]() {
      try {
        while (state !== 'dropped') {
          const bytes = waiting.shift()
          if (bytes !== undefined) {
            bytesWaiting -= bytes.length
            taken.resolve()
            taken = Promise.withResolvers<void>()
            yield bytes
          } else if (state === 'ended') return
          else await arrived.promise
        }
      } finally {
        drop()
      }
    },
  }
}
