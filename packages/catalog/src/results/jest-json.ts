import { stripVTControlCharacters } from 'node:util'
import { caseList, type ParsedCase } from './case-list.ts'
import { type TestResults, UnreadableResults } from './case-result.ts'
import { parseCutJson } from './cut-json.ts'
import { list, milliseconds, number, record, text as textOf, texts } from './json-values.ts'
import { linesIn } from './trace.ts'

/** The JSON of Jest, which Vitest writes too. */
export function readJestJson(text: string): TestResults {
  const { value, cut } = parseCutJson(text)
  const files = record(value).testResults
  if (!Array.isArray(files)) throw new UnreadableResults('The results have no "testResults".')
  const cases = caseList()
  for (const one of files) for (const found of casesOf(record(one), cut)) if (!cases.add(found)) break
  return cases.results(cut)
}

function* casesOf(result: Readonly<Record<string, unknown>>, cut: boolean): Generator<ParsedCase> {
  const file = textOf(result.name)
  const tests = list(result.assertionResults).map(record)
  const message = textOf(result.message)
  let failed = 0
  for (const test of tests) {
    const found = caseOf(test, file)
    if (found?.outcome === 'failed') failed++
    if (found !== null) yield found
  }
  // A file that could not be loaded, or whose hooks failed, has no failed test; it counts as one.
  if (result.status === 'failed' && failed === 0 && !(cut && message === null)) {
    const trace = message ?? 'The file could not be run.'
    const line = file === null ? undefined : linesIn(trace, file)[0]
    yield { name: baseName(file), file, line: line ?? null, outcome: 'failed', message: head(trace), details: trace }
  }
}

function caseOf(test: Readonly<Record<string, unknown>>, file: string | null): ParsedCase | null {
  const outcome = outcomes[textOf(test.status) ?? '']
  if (outcome === undefined) return null
  const traces = texts(test.failureMessages)
  const trace = traces.join('\n\n')
  const begins = number(record(test.location).line)
  const failedAt = file === null || outcome !== 'failed' ? undefined : linesIn(trace, file)[0]
  return {
    name: textOf(test.title) ?? textOf(test.fullName) ?? '',
    group: texts(test.ancestorTitles).filter(Boolean).join(' > ') || null,
    file,
    line: failedAt ?? begins,
    outcome,
    seconds: milliseconds(test.duration),
    message: outcome === 'failed' ? head(traces[0] ?? '') : null,
    details: trace,
  }
}

const outcomes: Readonly<Record<string, ParsedCase['outcome']>> = {
  passed: 'passed',
  failed: 'failed',
  skipped: 'skipped',
  pending: 'skipped',
  todo: 'skipped',
  disabled: 'skipped',
}

/** The lines before the frames. */
function head(trace: string): string {
  const lines = stripVTControlCharacters(trace.slice(0, 8192)).trimStart().split('\n')
  if (lines[0]!.startsWith('● Test suite failed to run')) lines.shift()
  const end = lines.findIndex((line, at) => at > 0 && /^(at |(> *)?\d+ \|)/.test(line.trimStart()))
  const said = lines.slice(0, end === -1 ? undefined : end).join('\n')
  return said.trim().replace(/^Error: /, '')
}

function baseName(file: string | null): string {
  return file?.split(/[/\\]/).at(-1) ?? ''
}
