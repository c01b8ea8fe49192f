import { Pile } from './pile.ts'

/** A file that grows at its end. */
export interface Appendable {
  /** All or, as far as it can be helped, nothing. */
  append(bytes: Buffer): Promise<void>
}

/** Writes behind the requests’ backs: what waits is written in rounds, a few files at a time. */
export interface Rounds {
  /** The way to one file; there must be one way only. */
  queue(to: Appendable): Queue
  /** Settles when all that waits is written or dropped. */
  flush(): Promise<void>
  /** Lines that a full disk, or one that stands still, has cost so far. */
  readonly dropped: number
}

export interface Queue {
  /** `lines` says how many are lost when this cannot be written. False: they are lost already, because too much waits. */
  add(text: string, lines: number): boolean
  /** Settles when what waits for this file is written or dropped. */
  flush(): Promise<void>
}

export interface RoundsOptions {
  /** Bytes that may wait, give or take a line; more than that is dropped. */
  readonly most?: number
  /** Nothing is written before. */
  readonly ready?: Promise<void>
  /** A round begins: what waits is being written. The function is called when it is. */
  turn?(): () => Promise<void>
  onError(error: unknown, lines: number): void
}

const together = 4
/** The rest before a round: ten milliseconds for each file, so that a thousand busy projects cost little. */
const shortestRest = 200
const longestRest = 10_000
const restPerFile = 10
/** So much does not wait for the end of a rest. */
const soonAt = 16 * 1024 * 1024

export function createRounds({
  most = 32 * 1024 * 1024,
  ready = Promise.resolve(),
  turn = () => async () => {},
  onError,
}: RoundsOptions): Rounds {
  let waiting = new Set<() => Promise<void>>()
  /** Of all that waits or is being written. */
  let size = 0
  let sinceRound = 0
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  /** Of the last round: as many are likely to come again. */
  let lastFiles = 0

  /** One after the other, so that the lines of a file keep their order. */
  const inTurn = (act: () => Promise<void>): Promise<void> => {
    running = running.then(act)
    return running
  }
  const round = () => {
    sinceRound = 0
    return inTurn(async () => {
      await ready
      clearTimeout(timer)
      const writes = waiting
      waiting = new Set()
      const done = turn()
      lastFiles = writes.size
      const next = writes.values()
      const some = async () => {
        for (const write of next) await write()
      }
      await Promise.all(Array.from({ length: together }, some))
      await done()
      // Whoever came meanwhile has not set a timer.
      timer = undefined
      if (waiting.size > 0) rest(lastFiles)
    })
  }
  const rest = (files: number) => {
    const pause = Math.min(longestRest, Math.max(shortestRest, files * restPerFile))
    timer ??= setTimeout(() => void round(), pause)
  }
  const lose = (error: unknown, lines: number) => {
    dropped += lines
    onError(error, lines)
  }

  return {
    get dropped() {
      return dropped
    },
    flush: round,
    queue(to) {
      let pile: Pile | null = null
      let lines = 0
      const write = async () => {
        if (pile === null) return
        const [writing, count] = [pile, lines]
        pile = null
        lines = 0
        try {
          await to.append(writing.bytes)
        } catch (error) {
          lose(error, count)
        } finally {
          size -= writing.length
        }
      }
      return {
        add(text, count) {
          if (size + text.length > most) {
            lose(new Error('The disk does not keep up with the access log.'), count)
            return false
          }
          if (pile === null) {
            pile = new Pile()
            waiting.add(write)
          }
          const bytes = pile.add(text)
          lines += count
          size += bytes
          sinceRound += bytes
          if (sinceRound > soonAt) void round()
          else if (timer === undefined) rest(Math.max(waiting.size, lastFiles))
          return true
        },
        flush: () =>
          inTurn(async () => {
            await ready
            waiting.delete(write)
            await write()
          }),
      }
    },
  }
}
