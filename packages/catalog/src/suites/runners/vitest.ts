import { configFiles } from '../node-package.ts'
import { packageRunner } from '../package-runner.ts'
import type { SuiteType } from '../suite-type.ts'

export const vitest: SuiteType = packageRunner({
  runner: 'vitest',
  label: 'Vitest',
  packageName: 'vitest',
  program: ['vitest'],
  configs: configFiles('vitest.config'),
  filterHelp: 'A test file, or a regular expression for names of tests (--testNamePattern).',
  // `vitest watch` and `vitest dev` wait for changes.
  words: (words) => [
    ...words.filter((word) => !['watch', 'dev', '--watch', '-w', 'run', '--run'].includes(word)),
    '--run',
  ],
  flags: (results, range) => [
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${results}/results.json`,
    // Versions before 2 refuse options that they do not know.
    ...(/^[~^>=v\s]*[01]\./.test(range ?? '') ? [] : ['--includeTaskLocation']),
  ],
  // They set it themselves only where nothing is set.
  env: () => ({ NODE_ENV: 'test' }),
  byName: (pattern) => `--testNamePattern=${pattern}`,
  results: { format: 'jest-json', file: 'results.json' },
})
