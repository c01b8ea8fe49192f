import { below, inSource } from '../../server-workload.ts'
import { contains } from '../contains.ts'
import type { SuiteInput, SuiteType } from '../suite-type.ts'

/** PHPUnit, also below Pest, which takes its options and writes its results. */
export const phpunit: SuiteType = {
  runner: 'phpunit',
  label: 'PHPUnit',
  runtime: 'php',
  sourceFiles: (folder) => ['composer.json', ...configs].map((file) => inSource(folder, file)),
  find: (input) => {
    const way = wayOf(input)
    if (way === null) return []
    return [
      {
        name: 'phpunit',
        label: way.label,
        because: way.because,
        reason: null,
        filterHelp: 'A regular expression for names of tests (--filter).',
        needsSetup: input.environment.setup.length > 0,
        command: ({ filter, results }) => ({
          argv: [
            ...way.words,
            '--colors=always',
            '--log-junit',
            `${results}/results.xml`,
            ...(filter === null ? [] : [`--filter=${filter}`]),
            ...way.tests,
          ],
          cwd: below(input.project.path, input.folder),
          results: { format: 'junit', file: 'results.xml' },
        }),
      },
    ]
  },
}

const configs = ['phpunit.xml', 'phpunit.xml.dist', 'phpunit.dist.xml']

function wayOf(input: SuiteInput): {
  readonly label: string
  readonly because: string
  readonly words: readonly [string, ...string[]]
  readonly tests: readonly string[]
} | null {
  const { source, folder, program } = input
  const composer = inSource(folder, 'composer.json')
  const php = program ?? 'php'
  if (contains(source, composer, /"pestphp\/pest"/)) {
    return { label: 'Pest', because: 'composer.json asks for pestphp/pest', words: [php, 'vendor/bin/pest'], tests: [] }
  }
  const config = configs.find((file) => inSource(folder, file) in source)
  // Without a configuration it needs the path of the tests.
  const tests = config === undefined ? ['tests'] : []
  if (contains(source, composer, /"phpunit\/phpunit"|"symfony\/test-pack"/)) {
    return { label: 'PHPUnit', because: 'composer.json asks for PHPUnit', words: [php, 'vendor/bin/phpunit'], tests }
  }
  if (contains(source, composer, /"symfony\/phpunit-bridge"/)) {
    const words = [php, 'vendor/bin/simple-phpunit'] as const
    return { label: 'PHPUnit', because: 'composer.json asks for symfony/phpunit-bridge', words, tests }
  }
  if (config === undefined) return null
  return { label: 'PHPUnit', because: `${config} is there`, words: ['/usr/bin/env', 'phpunit'], tests }
}
