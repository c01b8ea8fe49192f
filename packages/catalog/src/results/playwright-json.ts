import { caseList, type ParsedCase } from './case-list.ts'
import { type TestResults, UnreadableResults } from './case-result.ts'
import { parseCutJson } from './cut-json.ts'
import { list, number, record, text as textOf } from './json-values.ts'

type Fields = Readonly<Record<string, unknown>>

/** The JSON of Playwright Test. A test of several projects (browsers) counts once for each, as Playwright counts. */
export function readPlaywrightJson(text: string): TestResults {
  const { value, cut } = parseCutJson(text)
  const report = record(value)
  if (!Array.isArray(report.suites)) throw new UnreadableResults('The results have no "suites".')
  const cases = caseList()
  const root = textOf(record(report.config).rootDir)
  for (const file of report.suites) visit(record(file), [], root, cases, 0)
  for (const error of list(report.errors)) cases.add(ofErrorOutside(record(error)))
  return cases.results(cut)
}

/** The outermost suite is the file; its title is no group. */
function visit(
  suite: Fields,
  titles: readonly string[],
  root: string | null,
  cases: ReturnType<typeof caseList>,
  depth: number,
): void {
  if (depth > 100) return
  for (const value of list(suite.specs)) {
    const spec = record(value)
    for (const test of list(spec.tests)) cases.add(caseOf(spec, record(test), titles, root))
  }
  for (const value of list(suite.suites)) {
    const inner = record(value)
    visit(inner, [...titles, textOf(inner.title) ?? ''], root, cases, depth + 1)
  }
}

function caseOf(spec: Fields, test: Fields, titles: readonly string[], root: string | null): ParsedCase {
  const project = textOf(test.projectName)
  const results = list(test.results).map(record)
  const last = results.at(-1) ?? {}
  const file = textOf(spec.file)
  const said = {
    name: textOf(spec.title) ?? '',
    group: [...(project ? [`[${project}]`] : []), ...titles].join(' > ') || null,
    file: file === null || root === null || file.startsWith('/') ? file : `${root}/${file}`,
    line: number(spec.line),
    seconds: results.length === 0 ? null : results.reduce((sum, one) => sum + (number(one.duration) ?? 0), 0) / 1000,
  }
  if (test.status === 'skipped') return { ...said, outcome: 'skipped' }
  // `flaky` passed at last, after retries.
  if (test.status === 'expected' || test.status === 'flaky') return { ...said, outcome: 'passed' }
  const errors = [...list(last.errors), last.error].map(record)
  const error = errors.find((one) => textOf(one.message) !== null) ?? {}
  const location = record(error.location ?? last.errorLocation)
  const isHere = said.file !== null && textOf(location.file) === said.file
  return {
    ...said,
    line: (isHere ? number(location.line) : null) ?? said.line,
    outcome: 'failed',
    message: textOf(error.message) ?? missing(last, test),
    details: textOf(error.stack) ?? textOf(error.message),
  }
}

function missing(last: Fields, test: Fields): string {
  const expected = textOf(test.expectedStatus) ?? 'passed'
  return `It was expected to be "${expected}" and is "${textOf(last.status) ?? 'not run'}".`
}

/** A file that cannot be loaded, a web server that does not start. */
function ofErrorOutside(error: Fields): ParsedCase {
  const location = record(error.location)
  const file = textOf(location.file)
  const message = textOf(error.message)
  return {
    name: file === null ? 'Before the tests' : (file.split('/').at(-1) ?? file),
    file,
    line: number(location.line),
    outcome: 'failed',
    message,
    details: textOf(error.stack) ?? message,
  }
}
