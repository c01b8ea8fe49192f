import type { ExchangeNote, NoteExchange } from './exchange-note.ts'

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
 * Collects notes and hands them over together: at the latest after `within` milliseconds, earlier when there are many.
 * This is all that the log costs a request.
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

/**
 * The time stands first and has a fixed length, so that a reader can compare it without reading the line. Written by hand,
 * because each request pays for it.
 */
function lineOf(note: ExchangeNote, time: number): string {
  const { status, bytes, client, via } = note
  const host = quoted(note.host.slice(0, 255))
  const method = quoted(note.method.slice(0, 40))
  const path = quoted(withoutQuery(note.path).slice(0, 2_000))
  const seconds = Math.round(note.seconds * 1e6) / 1e6
  const userAgent = note.userAgent === null ? 'null' : quoted(note.userAgent.slice(0, 200))
  const share = note.share === null ? 'null' : quoted(note.share)
  const by = note.by === null ? 'null' : quoted(note.by)
  const request = `"host":${host},"method":${method},"path":${path}`
  const answer = `"status":${status},"seconds":${seconds},"bytes":${bytes}`
  const who = `"client":${quoted(client)},"userAgent":${userAgent},"via":"${via}","share":${share},"by":${by}`
  return `{"time":"${timeText(time)}",${request},${answer},${who}}\n`
}

/** Said a second time, because a token in a file is worse than a comparison too many. */
function withoutQuery(path: string): string {
  const query = path.indexOf('?')
  const fragment = path.indexOf('#')
  if (query === -1 && fragment === -1) return path
  return path.slice(0, query === -1 || (fragment !== -1 && fragment < query) ? fragment : query)
}

let knownSecond = Number.NaN
let secondText = ''

function timeText(time: number): string {
  const second = Math.floor(time / 1000)
  if (second !== knownSecond) {
    knownSecond = second
    secondText = new Date(second * 1000).toISOString().slice(0, 20)
  }
  return `${secondText}${String(time - second * 1000).padStart(3, '0')}Z`
}

/** Beside what JSON must escape, what it lets through and a terminal obeys. */
function quoted(text: string): string {
  if (plain.test(text)) return `"${text}"`
  return JSON.stringify(text).replace(terminalControls, escaped)
}

const plain = /^[ !#-[\]-~]*$/
const terminalControls = /[\x7f-\x9f\u2028\u2029]/g

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
