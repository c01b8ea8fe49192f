import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after } from 'node:test'
import { type SuiteType, suiteTypes } from '@stackquay/catalog'
import { projectOf } from './real-projects.ts'
import type { RealRun } from './run-suite.ts'

/** Folders that are removed when the tests of a file have ended. */
export const made: string[] = []
after(() => Promise.all(made.map((path) => rm(path, { recursive: true, force: true }))))

export async function temporary(files: Readonly<Record<string, string>>): Promise<string> {
  const path = await projectOf(files)
  made.push(path)
  return path
}

export function kindOf(runner: string): SuiteType {
  const kind = suiteTypes.find((one) => one.runner === runner)
  assert.ok(kind, runner)
  return kind
}

interface Said {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** `file:line name`, the file as seen from the project. */
  readonly failures: readonly string[]
}

/** What was read of a run must be what its runner said to people. */
export function assertRun(run: RealRun, path: string, said: Said, output: RegExp): void {
  const count = (outcome: string) => run.results.cases.filter((one) => one.outcome === outcome).length
  const failures = run.results.cases
    .filter((one) => one.outcome === 'failed')
    .map((one) => `${(one.file ?? '').replace(`${path}/`, '')}:${one.line} ${one.name}`)
  const read = {
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    failures: failures.sort(),
  }
  assert.deepEqual(read, said, run.output)
  assert.equal(run.results.incomplete, false)
  assert.match(run.output, output)
  assert.notEqual(run.code, 0)
}

export function without<T>(files: Readonly<Record<string, T>>, name: string): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(files).filter(([one]) => one !== name))
}

/** A filter reaches the runner as text: as no option of it, and no shell ever sees it. */
export async function assertFilterIsText(run: (filter: string) => Promise<RealRun>): Promise<void> {
  const trap = join('/tmp', `stackquay-trap-${process.pid}`)
  for (const filter of ['--help', `x"$(touch ${trap})\`touch ${trap}\`'; touch ${trap}`]) {
    const names = await run(filter).then(
      ({ results }) => results.cases.filter((one) => one.outcome !== 'skipped').map((one) => one.name),
      // Some runners write no results when nothing matches.
      () => [],
    )
    assert.deepEqual(names, [], filter)
  }
  assert.equal(existsSync(trap), false)
}
