import { stripVTControlCharacters } from 'node:util'
import { type CaseResult, mostCases, type TestResults } from './case-result.ts'

/** One test as a reader parsed it, not cleaned yet. */
export type ParsedCase = Pick<CaseResult, 'name' | 'outcome'> & Partial<CaseResult>

/** Takes cases while there is room, cleaned and bounded: results stay small for every output. */
export interface CaseList {
  /** False when the list is full. */
  add(parsedCase: ParsedCase): boolean
  results(incomplete: boolean): TestResults
}

export function caseList(): CaseList {
  const cases: CaseResult[] = []
  let overflown = false
  return {
    add: (parsedCase) => {
      overflown ||= cases.length >= mostCases
      if (!overflown) cases.push(caseOf(parsedCase))
      return !overflown
    },
    results: (incomplete) => ({ cases, incomplete: incomplete || overflown }),
  }
}

function caseOf(parsedCase: ParsedCase): CaseResult {
  const { line = null, seconds = null } = parsedCase
  return {
    name: oneLine(parsedCase.name, 1000) ?? '(without a name)',
    group: oneLine(parsedCase.group, 1000),
    file: oneLine(parsedCase.file, 4000),
    line: line !== null && Number.isSafeInteger(line) && line > 0 ? line : null,
    outcome: parsedCase.outcome,
    seconds: seconds !== null && Number.isFinite(seconds) && seconds >= 0 ? seconds : null,
    message: readable(parsedCase.message, 4096),
    details: parsedCase.outcome === 'failed' ? readable(parsedCase.details, 16_384) : null,
  }
}

function oneLine(text: string | null | undefined, most: number): string | null {
  return (
    readable(text, most)
      ?.replace(/[\u0000-\u001f\u007f]+/g, ' ')
      .trim() || null
  )
}

/** Text without colours and Windows line ends, of at most so many bytes; of a longer one the beginning and the end. */
export function readable(text: string | null | undefined, most: number): string | null {
  if (text === null || text === undefined) return null
  const clean = stripVTControlCharacters(shortened(text, most * 4))
    .replace(/\r\n?/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '')
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd()
  if (clean === '') return null
  let kept = clean.toWellFormed()
  for (let size = most; Buffer.byteLength(kept) > most; size = Math.floor(size * 0.7)) kept = shortened(clean, size)
  return kept
}

function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  const half = Math.floor((most - 10) / 2)
  return `${text.slice(0, half)}\n…\n${text.slice(text.length - half)}`.toWellFormed()
}
