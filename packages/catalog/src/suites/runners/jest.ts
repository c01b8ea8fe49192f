import { configFiles } from '../node-package.ts'
import { packageRunner } from '../package-runner.ts'
import type { SuiteType } from '../suite-type.ts'

export const jest: SuiteType = packageRunner({
  runner: 'jest',
  label: 'Jest',
  packageName: 'jest',
  program: ['jest'],
  configs: [...configFiles('jest.config'), 'jest.config.json'],
  filterHelp: 'A test file, or a regular expression for names of tests (--testNamePattern).',
  words: (words) => words.filter((word) => !['--watch', '--watchAll', '--watchAll=true', '-w'].includes(word)),
  flags: (results) => ['--json', `--outputFile=${results}/results.json`, '--testLocationInResults', '--watchAll=false'],
  // They set it themselves only where nothing is set.
  env: () => ({ NODE_ENV: 'test' }),
  byName: (pattern) => `--testNamePattern=${pattern}`,
  results: { format: 'jest-json', file: 'results.json' },
})
