import { gemsIn } from '../runtimes/ruby/commands.ts'
import { inSource } from '../server-workload.ts'
import type { SuiteInput } from './suite-type.ts'

/** The file that asks for one of these gems, by itself or through another gem. */
export function gemFile({ source, folder }: SuiteInput, gems: readonly string[]): string | null {
  const gemfile = inSource(folder, 'Gemfile')
  if (gems.some((gem) => gemsIn(source[gemfile]).has(gem))) return 'Gemfile'
  const lock = source[inSource(folder, 'Gemfile.lock')]
  const isLocked = (gem: string) => typeof lock === 'string' && new RegExp(`^ {4}${gem} \\(`, 'm').test(lock)
  return gems.some(isLocked) ? 'Gemfile.lock' : null
}

/** Beginning of a command: through Bundler where a Gemfile decides which gems are used. */
export function rubyWords({ source, folder, program }: SuiteInput): readonly [string, ...string[]] {
  const ruby = program ?? 'ruby'
  return inSource(folder, 'Gemfile') in source ? [ruby, '-S', 'bundle', 'exec'] : [ruby, '-S']
}

/** Applications must not load what they use in development; their configuration goes by these. */
export const testEnvironment = { RAILS_ENV: 'test', RACK_ENV: 'test', APP_ENV: 'test' }
