/** A file that grows at its end. */
export interface Appendable {
  /** All or, as far as it can be helped, nothing. */
  append(text: string): Promise<void>
}

/** Writes behind the requests’ backs: what waits is written in rounds, a few files at a time. */
export interface Rounds {
  /** `lines` says how many are lost when this cannot be written. */
  add(to: Appendable, text: string, lines: number): void
  /** Settles when what waits for this file, or for any, is written or dropped. */
  flush(to?: Appendable): Promise<void>
  /** Lines that a full disk, or one that stands still, has cost so far. */
  readonly dropped: number
}

export interface RoundsOptions {
  /** Characters that may wait; more than that is dropped. */
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
const soonAt = 8 * 1024 * 1024

export function createRounds({
  most = 32 * 1024 * 1024,
  ready = Promise.resolve(),
  turn = () => async () => {},
  onError,
}: RoundsOptions): Rounds {
  let waiting = new Map<Appendable, Waiting>()
  let size = 0
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  /** Of the last round: as many are likely to come again. */
  let lastFiles = 0
  let isSoon = false

  const write = async (to: Appendable, { text, lines }: Waiting) => {
    try {
      await to.append(text)
    } catch (error) {
      dropped += lines
      onError(error, lines)
    } finally {
      size -= text.length
    }
  }
  /** One after the other, so that the lines of a file keep their order. */
  const inTurn = (act: () => Promise<void>): Promise<void> => {
    running = running.then(act)
    return running
  }
  const round = () =>
    inTurn(async () => {
      await ready
      clearTimeout(timer)
      const files = waiting
      waiting = new Map()
      const done = turn()
      lastFiles = files.size
      isSoon = false
      const next = files.entries()
      const some = async () => {
        for (const [to, what] of next) await write(to, what)
      }
      await Promise.all(Array.from({ length: together }, some))
      await done()
      // Whoever came meanwhile has not set a timer.
      timer = undefined
      if (waiting.size > 0) rest(files.size)
    })
  const rest = (files: number) => {
    const pause = Math.min(longestRest, Math.max(shortestRest, files * restPerFile))
    timer ??= setTimeout(() => void round(), pause)
  }

  return {
    get dropped() {
      return dropped
    },
    add(to, text, lines) {
      if (size + text.length > most) {
        dropped += lines
        onError(new Error('The disk does not keep up with the access log.'), lines)
        return
      }
      size += text.length
      const before = waiting.get(to)
      if (before === undefined) waiting.set(to, { text, lines })
      else {
        before.text += text
        before.lines += lines
      }
      rest(Math.max(waiting.size, lastFiles))
      if (size > soonAt && !isSoon) {
        isSoon = true
        void round()
      }
    },
    flush(to) {
      if (to === undefined) return round()
      return inTurn(async () => {
        await ready
        const what = waiting.get(to)
        waiting.delete(to)
        if (what !== undefined) await write(to, what)
      })
    },
  }
}

interface Waiting {
  text: string
  lines: number
}
