import { stripVTControlCharacters } from 'node:util'
import { type CaseDraft, caseList } from './case-list.ts'
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
    const draft = caseOf(record(example))
    if (draft !== null && !cases.add(draft)) break
  }
  const outside = number(record(report.summary).errors_outside_of_examples_count) ?? 0
  if (outside > 0) for (const draft of errorsOutside(texts(report.messages), outside)) cases.add(draft)
  return cases.results(cut)
}

function caseOf(example: Fields): CaseDraft | null {
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

const outcomes: Readonly<Record<string, CaseDraft['outcome']>> = {
  passed: 'passed',
  failed: 'failed',
  pending: 'skipped',
}

/** Files that could not be loaded, and hooks of the whole suite. Their text is among the messages for people. */
function* errorsOutside(messages: readonly string[], count: number): Generator<CaseDraft> {
  const told = messages.filter((message) => message.includes('An error occurred')).slice(0, Math.min(count, 1000))
  if (told.length === 0) yield { name: 'Outside of examples', outcome: 'failed', message: `${count} errors.` }
  for (const raw of told) {
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
