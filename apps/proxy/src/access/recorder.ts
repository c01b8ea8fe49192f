import type { NoteExchange } from './exchange-note.ts'
import { lineOf } from './line.ts'

/** What one process noted of one project, as it goes to the log. */
export interface Batch {
  readonly project: string
  /** JSON lines, the last one ended too. */
  readonly lines: string
  /** Four numbers for each line: milliseconds since 1970, status, seconds, bytes. */
  readonly facts: readonly number[]
}

export interface Recorder {
  readonly note: NoteExchange
  /** Hands over at once what waits. */
  flush(): void
}

/**
 * Collects the notes of a worker and hands them over together: at the latest after `within` milliseconds, earlier when there
 * are many. This is all that the log costs a request there.
 */
export function createRecorder(
  deliver: (batches: readonly Batch[]) => void,
  { within = 50, most = 64 * 1024, now = Date.now }: RecorderOptions = {},
): Recorder {
  let waiting = new Map<string, { readonly project: string; lines: string; readonly facts: number[] }>()
  let size = 0
  let timer: NodeJS.Timeout | undefined

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (waiting.size === 0) return
    const batches = [...waiting.values()]
    waiting = new Map()
    size = 0
    deliver(batches)
  }

  return {
    flush,
    note(note) {
      const time = now()
      const line = lineOf(note, time)
      const batch = waiting.get(note.project)
      if (batch === undefined) {
        const facts = [time, note.status, note.seconds, note.bytes]
        waiting.set(note.project, { project: note.project, lines: line, facts })
      } else {
        batch.lines += line
        batch.facts.push(time, note.status, note.seconds, note.bytes)
      }
      size += line.length
      if (size >= most) flush()
      else timer ??= setTimeout(flush, within)
    },
  }
}

export interface RecorderOptions {
  readonly within?: number
  /** In characters. */
  readonly most?: number
  readonly now?: () => number
}
