import { isAbsolute, relative, resolve, sep } from 'node:path'
import { type CaseResult, sameTest } from '@stackquay/catalog/results/case-result'
import type { TestCounts } from '@stackquay/contract'
import type { TestCaseRow } from '@stackquay/store'

type Outcome = Pick<TestCaseRow, 'name' | 'group' | 'file' | 'outcome'>
type Case = Omit<TestCaseRow, 'position'>

export interface CasesInput {
  readonly cases: readonly CaseResult[]
  /** Absolute path of the folder that the runner ran in. */
  readonly cwd: string
  /** Absolute paths by which the project's folder may be called: as it is stored, and without links. */
  readonly folders: readonly string[]
  /** What was seen before on the very same source. */
  readonly before: readonly Outcome[]
}

/** Pure. The tests of a run as they are kept: failed ones first, then in the order they ran, and which of them are flaky. */
export function casesOf({ cases, cwd, folders, before }: CasesInput): readonly Case[] {
  const kept = cases.map((one): Case => {
    const file = one.file === null ? null : fileInProject(one.file, cwd, folders)
    return {
      name: clip(one.name, 1_000),
      group: clipOrNull(one.group, 1_000),
      file: clipOrNull(file, 1_000),
      line: file === null ? null : one.line,
      outcome: one.outcome,
      seconds: one.seconds,
      message: clipOrNull(one.message, 4_000),
      details: clipOrNull(one.details, 20_000),
      flaky: false,
    }
  })
  const seen = byTitle(before)
  const retried = retriedPlaces(kept)
  const marked = kept.map((one) => {
    const isRetried = one.outcome !== 'skipped' && retried.get(placeOf(one) ?? '')?.size === 2
    return { ...one, flaky: isRetried || hadOtherOutcome(one, seen.get(titleOf(one)) ?? []) }
  })
  return [...marked.filter(isFailed), ...marked.filter((one) => !isFailed(one))]
}

export function countsOf(cases: readonly Pick<TestCaseRow, 'outcome' | 'flaky'>[]): TestCounts {
  const of = (outcome: TestCaseRow['outcome']) => cases.filter((one) => one.outcome === outcome).length
  return {
    total: cases.length,
    passed: of('passed'),
    failed: of('failed'),
    skipped: of('skipped'),
    flaky: cases.filter((one) => one.flaky).length,
  }
}

function byTitle(outcomes: readonly Outcome[]): ReadonlyMap<string, readonly Outcome[]> {
  const seen = new Map<string, Outcome[]>()
  for (const one of outcomes) {
    const known = seen.get(titleOf(one))
    if (known === undefined) seen.set(titleOf(one), [one])
    else known.push(one)
  }
  return seen
}

function titleOf({ name, group }: Outcome): string {
  return JSON.stringify([group, name])
}

/** Tests that the runner itself ran again, with what came of them. */
function retriedPlaces(cases: readonly Case[]): ReadonlyMap<string, ReadonlySet<string>> {
  const seen = new Map<string, Set<string>>()
  for (const one of cases) {
    const place = placeOf(one)
    if (place === null || one.outcome === 'skipped') continue
    seen.set(place, (seen.get(place) ?? new Set()).add(one.outcome))
  }
  return seen
}

/** Title and line: two tests of one file may have the same title. */
function placeOf(one: Case): string | null {
  return one.file === null || one.line === null ? null : JSON.stringify([titleOf(one), one.file, one.line])
}

/**
 * Two tests of one run may have the same title, so only other runs count. Some runners name the file of failed tests alone:
 * one without a file is that of the same title in any.
 */
function hadOtherOutcome(one: Outcome, before: readonly Outcome[]): boolean {
  if (one.outcome === 'skipped') return false
  return before.some((other) => other.outcome !== 'skipped' && other.outcome !== one.outcome && sameTest(one, other))
}

/** Relative to the project; null for what lies outside, such as a test of a library. */
function fileInProject(file: string, cwd: string, folders: readonly string[]): string | null {
  const plain = file.startsWith('file://') ? pathOfUrl(file) : file
  if (plain === '') return null
  const path = resolve(cwd, plain)
  for (const folder of folders) {
    const inside = relative(folder, path)
    if (inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)) return inside
  }
  return null
}

function pathOfUrl(url: string): string {
  try {
    return decodeURIComponent(new URL(url).pathname)
  } catch {
    return ''
  }
}

function isFailed({ outcome }: Pick<TestCaseRow, 'outcome'>): boolean {
  return outcome === 'failed'
}

function clipOrNull(text: string | null, length: number): string | null {
  return text === null ? null : clip(text, length)
}

function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
