import { cargoTest } from './runners/cargo-test.ts'
import { django } from './runners/django.ts'
import { goTest } from './runners/go-test.ts'
import { jest } from './runners/jest.ts'
import { minitest } from './runners/minitest.ts'
import { nodeTest } from './runners/node-test.ts'
import { phpunit } from './runners/phpunit.ts'
import { playwright } from './runners/playwright.ts'
import { pytest } from './runners/pytest.ts'
import { rspec } from './runners/rspec.ts'
import { unittest } from './runners/unittest.ts'
import { vitest } from './runners/vitest.ts'
import type { SuiteType } from './suite-type.ts'

/** One line a runner; a test compares this list with the files beside it. The order is that of the list a person sees. */
export const suiteTypes: readonly SuiteType[] = [
  nodeTest,
  vitest,
  jest,
  playwright,
  pytest,
  unittest,
  django,
  goTest,
  rspec,
  minitest,
  phpunit,
  cargoTest,
]
