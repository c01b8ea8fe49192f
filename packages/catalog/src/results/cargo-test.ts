import { stripVTControlCharacters } from 'node:util'
import { caseList, type ParsedCase } from './case-list.ts'
import { type TestResults, UnreadableResults } from './case-result.ts'
import { linesOf } from './cases.ts'

/**
 * What `cargo test` prints for people: stable Rust has no other output. It says where a test is only when it failed.
 */
export function readCargoTest(text: string): TestResults {
  const found: ParsedCase[] = []
  const failures = new Map<string, string[]>()
  const compiler: string[] = []
  let group: string | null = null
  let failure: string[] | null = null
  let announced = 0
  let finished = 0
  let isCargo = false
  for (const raw of linesOf(text)) {
    const line = stripVTControlCharacters(raw.slice(0, 20_000)).trimEnd()
    const target = /^\s+(?:Running (.+) \(.*\)|Running (\S+)|Doc-tests (.+))$/.exec(line)
    if (target !== null) {
      isCargo = true
      group = target[1] ?? target[2] ?? `Doc-tests ${target[3]}`
      failure = null
      continue
    }
    isCargo ||= /^\s+(Compiling|Finished|Blocking|Updating|Downloading|Fresh|Locking) |^error(\[|:)/.test(line)
    const begins = /^running (\d+) tests?$/.exec(line)
    if (begins !== null) {
      isCargo = true
      announced += Number(begins[1])
      failure = null
      continue
    }
    if (/^test result: /.test(line)) {
      finished++
      failure = null
      continue
    }
    if (/^(failures|successes):$/.test(line)) {
      failure = null
      continue
    }
    const heading = /^---- (.+) stdout ----$/.exec(line)
    if (heading !== null) {
      failure = []
      failures.set(keyOf(group, heading[1]!), failure)
      continue
    }
    if (failure !== null) {
      if (failure.length < 400) failure.push(line)
      continue
    }
    const test = testOf(line, group)
    if (test !== null) {
      found.push(test)
      continue
    }
    if (compiler.length > 0 || /^error(\[E\d+\])?:/.test(line)) if (compiler.length < 400) compiler.push(line)
  }
  if (!isCargo) throw new UnreadableResults('The results are not the output of "cargo test".')
  const cases = caseList()
  for (const one of found) {
    const output = failures.get(keyOf(one.group ?? null, one.name))
    if (!cases.add(one.outcome === 'failed' ? withFailure(one, output ?? []) : one)) break
  }
  if (found.length === 0 && compiler.length > 0) cases.add(ofCompiler(compiler))
  return cases.results(announced > found.length || (found.length > 0 && finished === 0))
}

/** `test tests::adds ... ok`, `… ignored, later`, `… ok <0.001s>`; in between may stand what the test printed. */
function testOf(line: string, group: string | null): ParsedCase | null {
  const dots = line.startsWith('test ') ? line.indexOf(' ... ') : -1
  if (dots === -1) return null
  const said = /(?:^|\s)(ok|FAILED|ignored)(?:, (.*?))?(?: <(\d+\.\d+)s>)?$/.exec(line.slice(dots + 5))
  if (said === null) return null
  return {
    name: line.slice(5, dots).replace(/ - should panic$/, ''),
    group,
    outcome: outcomes[said[1]!]!,
    seconds: said[3] === undefined ? null : Number(said[3]),
    message: said[2] ?? null,
  }
}

const outcomes: Readonly<Record<string, ParsedCase['outcome']>> = { ok: 'passed', FAILED: 'failed', ignored: 'skipped' }

function keyOf(group: string | null, name: string): string {
  return JSON.stringify([group, name])
}

/** `thread 'tests::adds' panicked at src/lib.rs:14:9:` with the message below, or in Rust before 1.73 in front of the place. */
function withFailure(test: ParsedCase, lines: readonly string[]): ParsedCase {
  const output = lines.join('\n').trim()
  const panic = /panicked at (.+?):(\d{1,7}):\d{1,7}:$/m.exec(output)
  const older = panic === null ? /panicked at '([\s\S]{0,20000}?)', (\S+?):(\d{1,7}):\d{1,7}$/m.exec(output) : null
  if (older !== null) {
    return { ...test, file: older[2]!, line: Number(older[3]), message: older[1]!, details: output }
  }
  if (panic === null) return { ...test, message: output.split('\n')[0] || 'It failed.', details: output }
  const rest = output.slice(panic.index + panic[0].length).trim()
  const message = rest.split(/\n(?:note: |stack backtrace:|$)/)[0]!.trim()
  return { ...test, file: panic[1]!, line: Number(panic[2]), message, details: output }
}

function ofCompiler(lines: readonly string[]): ParsedCase {
  const output = lines.join('\n')
  const place = /^\s*--> (.+?):(\d{1,7}):\d+$/m.exec(output)
  return {
    name: 'cargo build',
    file: place?.[1] ?? null,
    line: place === null ? null : Number(place[2]),
    outcome: 'failed',
    message: lines[0]!,
    details: output,
  }
}
