import { stripVTControlCharacters } from 'node:util'
import { caseList, type ParsedCase } from './case-list.ts'
import { type TestResults, UnreadableResults } from './case-result.ts'
import { parseCutJson } from './cut-json.ts'
import { number, record, text as textOf, texts } from './json-values.ts'
import { linesIn } from './trace.ts'

type Fields = Readonly<Record<string, unknown>>

/** The JSON formatter of RSpec. */
export function readRspecJson(text: string): TestResults {
  const { value, cut } = parseCutJson(text)
  const report = record(value)
  if (!Array.isArray(report.examples)) throw new UnreadableResults('The results have no "examples".')
  const cases = caseList()
  for (const example of report.examples) {
    const found = caseOf(record(example))
    if (found !== null && !cases.add(found)) break
  }
  const outside = number(record(report.summary).errors_outside_of_examples_count) ?? 0
  if (outside > 0) for (const found of errorsOutside(texts(report.messages), outside)) cases.add(found)
  return cases.results(cut)
}

function caseOf(example: Fields): ParsedCase | null {
  const outcome = outcomes[textOf(example.status) ?? '']
  if (outcome === undefined) return null
  const name = textOf(example.description) ?? ''
  const full = textOf(example.full_description) ?? ''
  const file = textOf(example.file_path)
  const exception = record(example.exception)
  const trace = texts(exception.backtrace).join('\n')
  const message = textOf(exception.message)
  const failedAt = outcome === 'failed' && file !== null ? linesIn(trace, file)[0] : undefined
  return {
    name: name || full,
    group: (full.endsWith(name) ? full.slice(0, full.length - name.length).trim() : full) || null,
    file,
    line: failedAt ?? number(example.line_number),
    outcome,
    seconds: number(example.run_time),
    message: outcome === 'skipped' ? textOf(example.pending_message) : message,
    details: [message === null ? null : `${textOf(exception.class) ?? ''}: ${message.trim()}`, trace]
      .filter(Boolean)
      .join('\n\n'),
  }
}

const outcomes: Readonly<Record<string, ParsedCase['outcome']>> = {
  passed: 'passed',
  failed: 'failed',
  pending: 'skipped',
}

/** Files that could not be loaded, and hooks of the whole suite. Their text is among the messages for people. */
function* errorsOutside(messages: readonly string[], count: number): Generator<ParsedCase> {
  const reported = messages.filter((message) => message.includes('An error occurred')).slice(0, Math.min(count, 1000))
  if (reported.length === 0) yield { name: 'Outside of examples', outcome: 'failed', message: `${count} errors.` }
  for (const raw of reported) {
    const message = stripVTControlCharacters(raw)
    const file = /An error occurred while loading (\S+?\.rb)\b/.exec(message.slice(0, 5000))?.[1] ?? null
    const paragraphs = message.slice(0, 20_000).split(/\n\s*\n/)
    const wrong = paragraphs[paragraphs.findIndex((one) => one.trimStart().startsWith('Failure/Error')) + 1]
    yield {
      name: file?.split('/').at(-1) ?? 'Outside of examples',
      file,
      line: file === null ? null : (linesIn(message, file)[0] ?? null),
      outcome: 'failed',
      message: wrong?.trim().replace(/\n\s*/g, ' ') ?? message,
      details: message,
    }
  }
}
