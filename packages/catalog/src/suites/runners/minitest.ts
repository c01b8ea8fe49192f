import type { Value } from '@stackquay/engine-api'
import { below, inSource } from '../../server-workload.ts'
import { contains } from '../contains.ts'
import { minitestReporter } from '../reporters/minitest.ts'
import { gemFile, rubyWords, testEnvironment } from '../ruby-source.ts'
import type { SuiteInput, SuiteType } from '../suite-type.ts'

export const minitest: SuiteType = {
  runner: 'minitest',
  label: 'Minitest',
  runtime: 'ruby',
  sourceFiles: (folder) =>
    ['Gemfile', 'Gemfile.lock', 'Rakefile', 'bin/rails', 'test', 'test/test_helper.rb'].map((file) =>
      inSource(folder, file),
    ),
  find: (input) => {
    const way = wayOf(input)
    if (way === null) return []
    return [
      {
        name: 'minitest',
        label: way.words.join(' '),
        because: way.because,
        reason: null,
        filterHelp: 'Part of a test’s name (Cart#test_add), or a regular expression between slashes.',
        needsSetup: input.environment.setup.length > 0,
        command: ({ filter, results }) => ({
          argv: [...rubyWords(input), ...way.words],
          env: {
            ...testEnvironment,
            RUBYLIB: joined(results, ':', input.environment.env.RUBYLIB),
            RUBYOPT: joined('-rstackquay_minitest', ' ', input.environment.env.RUBYOPT),
            STACKQUAY_TEST_RESULTS: `${results}/results.jsonl`,
            // rake hands its own options on through a shell; this way is none.
            ...(filter === null ? {} : { STACKQUAY_TEST_FILTER: filter }),
          },
          cwd: below(input.project.path, input.folder),
          files: { 'stackquay_minitest.rb': minitestReporter },
          results: { format: 'cases', file: 'results.jsonl' },
        }),
      },
    ]
  },
}

function wayOf(input: SuiteInput): { readonly words: readonly [string, ...string[]]; readonly because: string } | null {
  const { source, folder } = input
  const has = (file: string) => inSource(folder, file) in source
  if (!has('test') && !has('test/test_helper.rb')) return null
  if (has('bin/rails'))
    return { words: ['rails', 'test'], because: 'The folder "test" of a Rails application is there' }
  const rakefile = inSource(folder, 'Rakefile')
  if (contains(source, rakefile, /Minitest::TestTask|Rake::TestTask|minitest/)) {
    return { words: ['rake', 'test'], because: 'The Rakefile has a task for tests' }
  }
  const file = gemFile(input, ['minitest'])
  return file === null || !has('Rakefile') ? null : { words: ['rake', 'test'], because: `${file} asks for minitest` }
}

function joined(added: string, separator: string, theirs: Value | undefined): Value {
  if (theirs === undefined) return added
  return typeof theirs === 'string' ? `${added}${separator}${theirs}` : [`${added}${separator}`, ...theirs]
}
