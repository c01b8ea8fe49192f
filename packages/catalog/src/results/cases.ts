import { caseList } from './case-list.ts'
import { type CaseResult, type TestResults, UnreadableResults } from './case-result.ts'
import { number, record, text as textOf } from './json-values.ts'

/**
 * The built-in format of the reporters that runners get: a line `{"results":"stackquay"}`, a line for each test with the
 * fields of `CaseResult`, and `{"end":true}`. Lines that are none of these are passed over.
 */
export function readCases(text: string): TestResults {
  const cases = caseList()
  let isBuiltIn = false
  let ended = false
  for (const line of linesOf(text)) {
    const fields = record(parsed(line))
    if (fields.results === 'stackquay') [isBuiltIn, ended] = [true, false]
    else if (fields.end === true) ended = true
    else if (isOutcome(fields.outcome)) {
      const kept = cases.add({
        name: textOf(fields.name) ?? '',
        group: textOf(fields.group),
        file: textOf(fields.file),
        line: number(fields.line),
        outcome: fields.outcome,
        seconds: number(fields.seconds),
        message: textOf(fields.message),
        details: textOf(fields.details),
      })
      if (!kept) break
    }
  }
  if (!isBuiltIn) throw new UnreadableResults('The runner wrote no results that its reporter should have written.')
  return cases.results(!ended)
}

/** One at a time: results may be many megabytes. */
export function* linesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf('\n', at)
    const end = next === -1 ? text.length : next
    yield text.slice(at, end).replace(/\r$/, '')
    at = end + 1
  }
}

/** What a line of objects says. Others cost nothing: a megabyte of empty lines would be a million exceptions. */
export function parsed(line: string): unknown {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as unknown
  } catch {
    return undefined
  }
}

function isOutcome(value: unknown): value is CaseResult['outcome'] {
  return value === 'passed' || value === 'failed' || value === 'skipped'
}
