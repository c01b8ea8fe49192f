import { configFiles } from '../node-package.ts'
import { packageRunner } from '../package-runner.ts'
import type { SuiteType } from '../suite-type.ts'

export const playwright: SuiteType = packageRunner({
  runner: 'playwright',
  label: 'Playwright',
  packageName: '@playwright/test',
  program: ['playwright', 'test'],
  configs: configFiles('playwright.config'),
  filterHelp: 'A test file, or a regular expression for titles (--grep).',
  words: (words) => words.filter((word) => !['--ui', '--debug', '--headed'].includes(word)),
  flags: () => ['--reporter=list,json'],
  // Newer versions read the first, older ones the second. The report would open a page of its own otherwise.
  env: (results) => ({
    PLAYWRIGHT_JSON_OUTPUT_FILE: `${results}/results.json`,
    PLAYWRIGHT_JSON_OUTPUT_NAME: `${results}/results.json`,
    PLAYWRIGHT_HTML_OPEN: 'never',
  }),
  byName: (pattern) => `--grep=${pattern}`,
  results: { format: 'playwright-json', file: 'results.json' },
})
