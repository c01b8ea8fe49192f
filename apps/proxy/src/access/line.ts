import type { ExchangeNote } from './exchange-note.ts'

/**
 * The time stands first and has a fixed length, so that a reader can compare it without reading the line. Written by hand,
 * because each request pays for it.
 */
export function lineOf(note: ExchangeNote, time: number): string {
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
