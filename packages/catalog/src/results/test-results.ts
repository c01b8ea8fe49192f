import type { ResultFormat } from '../suites/suite-type.ts'
import { readCargoTest } from './cargo-test.ts'
import { type TestResults, UnreadableResults } from './case-result.ts'
import { readCases } from './cases.ts'
import { readGoTestJson } from './go-test-json.ts'
import { readJestJson } from './jest-json.ts'
import { readJUnit } from './junit.ts'
import { readPlaywrightJson } from './playwright-json.ts'
import { readRspecJson } from './rspec-json.ts'

export * from './case-result.ts'

/** Reads at most `mostCases` cases. Pure; never throws anything but `UnreadableResults`. */
export function readTestResults(format: ResultFormat, text: string): TestResults {
  if (text.trim() === '') throw new UnreadableResults('The runner wrote no results.')
  return readers[format](text.replace(/^\uFEFF/, ''))
}

const readers: Readonly<Record<ResultFormat, (text: string) => TestResults>> = {
  junit: readJUnit,
  cases: readCases,
  'go-test-json': readGoTestJson,
  'cargo-test': readCargoTest,
  'jest-json': readJestJson,
  'playwright-json': readPlaywrightJson,
  'rspec-json': readRspecJson,
}
