/*
 * What is told of many lines of a log: how many there are of each level over time, and which errors are the same but for their
 * numbers. Values in, values out.
 */

/** What lines are counted by: those without a level are told, too. */
export const countedLevels = ['error', 'warning', 'info', 'debug', 'none'] as const
export type CountedLevel = (typeof countedLevels)[number]

const day = 86_400
const stepsSeconds = [1, 5, 15, 60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, day, 7 * day]
const mostSteps = 60

export interface StepRange {
  /** Milliseconds since 1970; a whole number of steps. */
  readonly from: number
  readonly stepSeconds: number
  readonly steps: number
}

/** The smallest step of which at most sixty cover the time from `since` to `until`, in milliseconds. */
export function stepsOver(since: number, until: number): StepRange {
  const stepSeconds =
    stepsSeconds.find((step) => countOf(since, until, step) <= mostSteps) ?? stepsSeconds[stepsSeconds.length - 1]!
  const from = beginOf(since, stepSeconds)
  return { from, stepSeconds, steps: countOf(since, until, stepSeconds) }
}

function beginOf(time: number, step: number): number {
  return Math.floor(time / (step * 1000)) * step * 1000
}

function countOf(since: number, until: number, step: number): number {
  return Math.floor((until - beginOf(since, step)) / (step * 1000)) + 1
}

/** Longer ones differ in what nobody reads. */
const longest = 400

/**
 * The same for lines that differ in times, ids and numbers alone. Each expression takes time in proportion to the text, whatever
 * the program printed.
 */
export function errorPattern(text: string): string {
  return text
    .slice(0, longest)
    .replace(colours, '')
    .replace(times, '<time>')
    .replace(uuids, '<id>')
    .replace(longHex, (word) => (/\d/.test(word) ? '<id>' : word))
    .replace(mixed, '<id>')
    .replace(numbers, '<n>')
    .replace(/\s+/g, ' ')
    .trim()
}

const colours = /\u001b\[[0-9;]*m/g
const times = /\b\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d| UTC)?/g
const uuids = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi
const longHex = /\b(?:0x)?[0-9a-f]{8,64}\b/gi
/** `prj_01kq3z8v5mexample`: an id with a prefix. */
const mixed = /\b[a-z]{2,8}_(?=[a-z]*\d)[0-9a-z]{8,64}\b/gi
const numbers = /\d+(?:\.\d+)*/g

/** The longest text in a pattern that all its lines have. */
export function searchOf(pattern: string): string {
  return pattern
    .split(/<(?:time|id|n)>/)
    .map((part) => part.trim())
    .reduce((best, part) => (part.length > best.length ? part : best), '')
    .slice(0, 200)
}

export interface CountedError {
  readonly pattern: string
  /** The newest line. */
  readonly text: string
  readonly workload: string
  readonly count: number
  /** Milliseconds since 1970. */
  readonly firstAt: number
  readonly lastAt: number
}

/** A program can print as many different errors as it likes: so many are kept, those that came oftenest. */
const mostPatterns = 1000

/** Both together. */
export function addErrors(
  known: ReadonlyMap<string, CountedError>,
  more: readonly CountedError[],
): ReadonlyMap<string, CountedError> {
  const next = new Map(known)
  for (const error of more) {
    const before = next.get(error.pattern)
    next.set(error.pattern, before === undefined ? error : joined(before, error))
  }
  if (next.size <= mostPatterns) return next
  return new Map([...next].sort(([, a], [, b]) => b.count - a.count).slice(0, mostPatterns / 2))
}

function joined(one: CountedError, other: CountedError): CountedError {
  const newest = other.lastAt >= one.lastAt ? other : one
  return {
    ...newest,
    count: one.count + other.count,
    firstAt: Math.min(one.firstAt, other.firstAt),
    lastAt: Math.max(one.lastAt, other.lastAt),
  }
}

export function topErrors(errors: ReadonlyMap<string, CountedError>, most: number): readonly CountedError[] {
  return [...errors.values()].sort((a, b) => b.count - a.count || b.lastAt - a.lastAt).slice(0, most)
}
