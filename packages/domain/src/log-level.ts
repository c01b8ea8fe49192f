import type { LogLine } from '@stackquay/contract'

type Level = NonNullable<LogLine['level']>

/**
 * The level that the text of a line tells, null when it tells none. What was printed to stderr is not an error for that:
 * many programs print everything there.
 */
export function levelOf(text: string): Level | null {
  const plain = text.includes('\u001b') ? text.slice(0, 4 * near).replace(colours, '') : text
  if (plain.charCodeAt(0) === braceCode) return ofJson(plain)
  const start = plain.length > near ? plain.slice(0, near) : plain
  const found = mayTell(start) ? words.exec(start) : null
  if (found !== null)
    return levels[(found[1] ?? found[2] ?? found[3] ?? found[4] ?? found[5] ?? '').toLowerCase()] ?? null
  const mark = marks.exec(start)
  if (mark !== null) return markLevels[mark[1] ?? mark[2] ?? ''] ?? null
  return failures.test(start) ? 'error' : null
}

/** True of all that `words` fits, in less time: most lines tell no level. Simple expressions, one by one, are the fastest. */
function mayTell(text: string): boolean {
  return capitals.test(text) || bracketed.test(text) || assigned.test(text) || beginnings.test(text)
}

const capitals = /[A-Z]{3}/
const bracketed = /[[<][A-Za-z]{3}/
/** The last letters of `level`, `lvl` and `severity`. */
const assigned = /[lLyY]=/

/** In ascending order of badness. */
export function isAtLeast(level: Level | null, wanted: Level): boolean {
  return level !== null && badness[level] >= badness[wanted]
}

const badness: Readonly<Record<Level, number>> = { debug: 0, info: 1, warning: 2, error: 3 }
export const allLevels = Object.keys(badness) as readonly Level[]
const braceCode = 0x7b
/** A level stands near the beginning of its line; further on it is a word like others. */
export const near = 100
const colours = /\u001b\[[0-9;]*m/g

const levels: Readonly<Record<string, Level>> = {
  emerg: 'error',
  emergency: 'error',
  alert: 'error',
  crit: 'error',
  critical: 'error',
  fatal: 'error',
  panic: 'error',
  severe: 'error',
  error: 'error',
  err: 'error',
  'fatal error': 'error',
  'parse error': 'error',
  warn: 'warning',
  warning: 'warning',
  deprecated: 'warning',
  notice: 'info',
  note: 'info',
  system: 'info',
  info: 'info',
  information: 'info',
  log: 'info',
  debug: 'debug',
  debug1: 'debug',
  trace: 'debug',
  verbose: 'debug',
  silly: 'debug',
}

const upper =
  'EMERG|EMERGENCY|ALERT|CRIT|CRITICAL|FATAL|PANIC|SEVERE|ERROR|ERR|WARN|WARNING|NOTICE|INFO|DEBUG|DEBUG1|TRACE|VERBOSE'
const any = (text: string) => text.replace(/[A-Z]/g, (letter) => `[${letter}${letter.toLowerCase()}]`)

/**
 * `level=warn`, `[error]` and `<error>` in any case, `ERROR` in capitals as a word of its own, `LOG:` of PostgreSQL, and at
 * the very beginning `warning: …`, also as PHP and npm say it.
 */
const words = new RegExp(
  [
    `\\b(?:level|lvl|severity|loglevel)="?([A-Za-z]+)`,
    `[[<](${any(`${upper}|NOTE|SYSTEM|LOG`)})[\\]>]`,
    `(?:^|[\\s[|(<:-])(${upper}|LOG(?=:))(?=$|[\\s\\]|)>:,!-])`,
    `^(?:npm |PHP )?(${any(`ERROR|ERR|WARNING|WARN|NOTICE|DEPRECATED|INFO|DEBUG|FATAL ERROR|PARSE ERROR|FATAL|PANIC|TRACE|VERBOSE`)})(?:!|:|\\[| \\[)`,
    `^npm (error|warn|notice|info|verbose|silly) `,
  ].join('|'),
)

const beginnings = /^[A-Za-z]{3,10}(?:[:!]| ?\[)|^(?:npm|PHP|[Ff]atal|[Pp]arse) /

/** `E0102 15:04:05` of glog, and Redis’s `123:M 02 Jan 2026 15:04:05.000 # `. */
const marks = /^(?:([EWIF])\d{4} \d\d:\d\d:\d\d|\d+:[XCSM] \d\d \w{3} \d{4} [\d:.]+ ([.\-*#]) )/
const markLevels: Readonly<Record<string, Level>> = {
  F: 'error',
  E: 'error',
  W: 'warning',
  I: 'info',
  '#': 'warning',
  '*': 'info',
  '-': 'info',
  '.': 'debug',
}

/** How an uncaught failure begins: `TypeError: …`, `java.lang.IllegalStateException: …`, Python’s and Go’s own. */
const failures =
  /^(?:Uncaught |Unhandled )?(?:(?:[\w.$]*(?:Error|Exception)(?::|$| \[))|Traceback \(most recent call last\)|panic: |thread '[^']*' panicked)/

/** `"level":"warn"`, numbers of pino and bunyan (30 is info), and of syslog (3 is error). */
function ofJson(text: string): Level | null {
  const found = jsonLevel.exec(text.length > 4096 ? text.slice(0, 4096) : text)
  if (found === null) return null
  const [, word, digits] = found
  if (word !== undefined) return levels[word.toLowerCase()] ?? null
  const number = Number(digits)
  if (number >= 10) return number >= 50 ? 'error' : number >= 40 ? 'warning' : number >= 30 ? 'info' : 'debug'
  if (number > 7) return null
  return number <= 3 ? 'error' : number === 4 ? 'warning' : number <= 6 ? 'info' : 'debug'
}

const jsonLevel = /[{,]\s*"(?:level|severity|lvl|levelname|loglevel|log\.level|@l)"\s*:\s*(?:"([A-Za-z]+)"|(\d{1,3}))/i
