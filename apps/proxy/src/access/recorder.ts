import type { NoteExchange } from './exchange-note.ts'
import { lineOf } from './line.ts'
import { LinePage, type Lines } from './line-page.ts'

export interface Recorder {
  readonly note: NoteExchange
  /** Hands over at once what waits. */
  flush(): void
}

/** Far more than the longest line. */
const pageBytes = 64 * 1024

/**
 * Collects the notes of a worker and hands them over together: at the latest after `within` milliseconds, earlier when there
 * are many. `deliver` has them only until it ends, because their memory is used again.
 */
export function createRecorder(
  deliver: (lines: Lines) => void,
  { within = 50, now = Date.now }: RecorderOptions = {},
): Recorder {
  const page = new LinePage(pageBytes)
  let timer: NodeJS.Timeout | undefined

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (page.facts.length > 0) deliver(page)
    page.clear()
  }

  return {
    flush,
    note(note) {
      const time = now()
      const line = lineOf(note, time)
      const add = () => page.add(note.project, line, time, note.status, note.seconds, note.bytes)
      if (add() === 0) {
        flush()
        add()
      }
      timer ??= setTimeout(flush, within)
    },
  }
}

export interface RecorderOptions {
  readonly within?: number
  readonly now?: () => number
}
