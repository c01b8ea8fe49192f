import { caseList, type ParsedCase } from './case-list.ts'
import { type TestResults, UnreadableResults } from './case-result.ts'
import { linesOf, parsed } from './cases.ts'
import { number, record, text as textOf } from './json-values.ts'

/**
 * The events of `go test -json`. Subtests count as tests beside their parents, as they do there. A package that failed without
 * a failed test (it does not compile, it panicked outside a test) is one failed test of the package's name.
 */
export function readGoTestJson(text: string): TestResults {
  const cases = caseList()
  const open = new Map<string, Open>()
  const failures = new Map<string, number>()
  const build = new Map<string, string>()
  const uncompiled: Open[] = []
  let events = 0
  let isCut = false
  for (const line of linesOf(text)) {
    const event = record(parsed(line))
    const action = textOf(event.Action)
    if (action === null) {
      isCut = line.trim() !== '' && line.startsWith('{')
      continue
    }
    events++
    const output = textOf(event.Output) ?? ''
    if (action === 'build-output') add(build, textOf(event.ImportPath) ?? '', output)
    const name = textOf(event.Package)
    if (name === null) continue
    const test = textOf(event.Test)
    const key = JSON.stringify([name, test])
    const entry = open.get(key) ?? { package: name, test, output: '' }
    if (!open.has(key)) open.set(key, entry)
    if (action === 'output' && entry.output.length < mostOutput) entry.output += output
    const outcome = outcomes[action]
    if (outcome === undefined) continue
    open.delete(key)
    const seconds = number(event.Elapsed)
    if (test !== null) {
      if (outcome === 'failed') failures.set(name, (failures.get(name) ?? 0) + 1)
      if (!cases.add(ofTest(entry, outcome, seconds))) break
    } else if (outcome === 'failed' && !failures.has(name)) {
      const because = textOf(event.FailedBuild)
      if (because === null && (entry.output === '' || /\[(build|setup) failed\]/.test(entry.output)))
        uncompiled.push(entry)
      else cases.add(ofPackage({ ...entry, output: buildOf(because ?? name, build) + entry.output }))
    }
  }
  // Before Go 1.24 what the compiler says stands beside the events, and may come later.
  for (const entry of uncompiled)
    cases.add(ofPackage({ ...entry, output: buildOf(entry.package, build) + entry.output }))
  if (events === 0) throw new UnreadableResults('The results are not events of "go test -json".')
  // A test that neither passed nor failed was running when everything ended.
  const running = [...open.values()]
  return cases.results(isCut || running.length > 0)
}

/** A package is built once more for its tests: `example.org/shop [example.org/shop.test]`. */
function buildOf(name: string, build: ReadonlyMap<string, string>): string {
  const own = [...build].find(([of]) => of === name || of.startsWith(`${name} [`) || of.startsWith(`${name}_test [`))
  return own?.[1] ?? ''
}

const mostOutput = 65_536

interface Open {
  readonly package: string
  readonly test: string | null
  output: string
}

const outcomes: Readonly<Record<string, ParsedCase['outcome']>> = { pass: 'passed', fail: 'failed', skip: 'skipped' }

function add(texts: Map<string, string>, key: string, text: string): void {
  const before = texts.get(key) ?? ''
  if (before.length < mostOutput) texts.set(key, before + text)
}

function ofTest(entry: Open, outcome: ParsedCase['outcome'], seconds: number | null): ParsedCase {
  const said = { name: entry.test ?? '', group: entry.package, outcome, seconds }
  const output = withoutFrame(entry.output)
  if (outcome === 'passed') return said
  const at = outcome === 'failed' ? placeOf(entry.output) : null
  const message = outcome === 'failed' && output === '' ? 'It failed, or one of its subtests did.' : messageOf(output)
  return { ...said, file: at?.file ?? null, line: at?.line ?? null, message, details: output }
}

function ofPackage(entry: Open): ParsedCase {
  const at = placeOf(entry.output)
  const output = withoutFrame(entry.output)
  const [first = 'The package failed.'] = output.split('\n').filter((line) => line !== '' && !line.startsWith('# '))
  return {
    name: entry.package,
    group: entry.package,
    file: at?.file ?? null,
    line: at?.line ?? null,
    outcome: 'failed',
    message: first,
    details: output,
  }
}

function withoutFrame(output: string): string {
  return output
    .split('\n')
    .filter((line) => !/^\s*(=== (RUN|PAUSE|CONT|NAME)|--- (PASS|FAIL|SKIP):|(FAIL|PASS)\b|exit status)/.test(line))
    .join('\n')
    .trimEnd()
}

/** `    sum_test.go:12: got 3` of the test itself; in a panic the first frame of a test file. */
function placeOf(output: string): { readonly file: string; readonly line: number } | null {
  const bounded = output.slice(0, mostOutput)
  const match =
    /^[ \t]*((?:[^\s:]|(?<=[^\s:]) (?=[^\s:]))+_test\.go):(\d{1,7})/m.exec(bounded) ??
    /^[ \t]*([^\s:]+\.go):(\d{1,7})/m.exec(bounded)
  return match === null ? null : { file: match[1]!, line: Number(match[2]) }
}

/** Without its place; of a panic the line that says so. */
function messageOf(output: string): string {
  const panic = /^panic: .*$/m.exec(output)
  if (panic !== null) return panic[0]
  return output
    .split('\n')
    .map((line) => line.trim().replace(/^\S+\.go:\d+: ?/, ''))
    .join('\n')
    .trim()
}
