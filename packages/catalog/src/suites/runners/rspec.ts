import { below, inSource } from '../../server-workload.ts'
import { gemFile, rubyWords, testEnvironment } from '../ruby-source.ts'
import type { SuiteInput, SuiteType } from '../suite-type.ts'

export const rspec: SuiteType = {
  runner: 'rspec',
  label: 'RSpec',
  runtime: 'ruby',
  sourceFiles: (folder) => ['Gemfile', 'Gemfile.lock', ...configs].map((file) => inSource(folder, file)),
  find: (input) => {
    const because = reasonFor(input)
    if (because === null) return []
    return [
      {
        name: 'rspec',
        label: 'RSpec',
        because,
        reason: null,
        filterHelp:
          'Part of an example’s full description (--example), or a file with or without a line: spec/cart_spec.rb:12.',
        needsSetup: input.environment.setup.length > 0,
        command: ({ filter, results }) => ({
          argv: [
            ...rubyWords(input),
            'rspec',
            '--force-color',
            '--format=progress',
            '--format=json',
            `--out=${results}/results.json`,
            ...filterWords(filter),
          ],
          env: testEnvironment,
          cwd: below(input.project.path, input.folder),
          results: { format: 'rspec-json', file: 'results.json' },
        }),
      },
    ]
  },
}

const configs = ['.rspec', 'spec/spec_helper.rb', 'spec/rails_helper.rb']

function reasonFor(input: SuiteInput): string | null {
  const file = gemFile(input, ['rspec', 'rspec-rails', 'rspec-core'])
  if (file !== null) return `${file} asks for rspec`
  const config = configs.find((one) => inSource(input.folder, one) in input.source)
  return config === undefined ? null : `${config} is there`
}

function filterWords(filter: string | null): readonly string[] {
  if (filter === null) return []
  const isPlace = /_spec\.rb(:\d+|\[[\d:,]+\])?$/.test(filter) && !filter.startsWith('-')
  return isPlace ? [filter] : [`--example=${filter}`]
}
