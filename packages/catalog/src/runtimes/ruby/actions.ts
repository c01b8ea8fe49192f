import type { ProcessRun } from '@stackquay/engine-api'
import type { ActionDefinition, RuntimeInput } from '../../entry-types.ts'
import { inSource } from '../../server-workload.ts'
import { type ActionParts, actionList } from '../actions.ts'
import { gemsIn } from './commands.ts'
import { rakefiles, tasksIn } from './rake-tasks.ts'

export function commandFiles(folder: string): readonly string[] {
  return [...rakefiles, 'config/database.yml'].map((file) => inSource(folder, file))
}

/** Bundler, Rails' own tasks, and those that the Rakefile describes. */
export function rubyActions(input: RuntimeInput): readonly ActionDefinition[] {
  return actionList([...bundlerActions(input), ...railsActions(input), ...rakeActions(input)])
}

function bundlerActions(input: RuntimeInput): readonly ActionParts[] {
  const folder = input.settings.package as string
  const reason =
    inSource(folder, 'Gemfile') in input.source ? null : 'There is no Gemfile: make one with "bundle init".'
  const call = (words: readonly string[]): ProcessRun['argv'] => [input.toolchain.program, '-S', 'bundle', ...words]
  return [
    {
      name: 'install',
      label: 'bundle install',
      summary: 'Installs the gems that the Gemfile asks for.',
      argv: call(['install']),
      reason,
      needsSetup: false,
    },
    {
      name: 'outdated',
      label: 'bundle outdated',
      summary: 'Lists gems with newer versions; ends with 1 when there are some.',
      argv: call(['outdated']),
      reason,
    },
  ]
}

function railsActions(input: RuntimeInput): readonly ActionParts[] {
  const has = (file: string) => inSource(input.settings.package as string, file) in input.source
  if (!has('bin/rails') && !has('config/application.rb')) return []
  const tasks = [
    ...(has('config/database.yml') ? databaseTasks : []),
    ...(usesGem(input, /^(?:propshaft|sprockets|sprockets-rails)$/) ? assetTasks : []),
    ...otherTasks,
  ]
  return tasks.map(({ name, summary, destructive }) => ({
    name,
    label: `bin/rails ${name}`,
    summary,
    argv: [input.toolchain.program, '-S', 'bundle', 'exec', 'rails', name],
    destructive: destructive === true,
  }))
}

interface RailsTask {
  readonly name: string
  readonly summary: string
  readonly destructive?: true
}

const databaseTasks: readonly RailsTask[] = [
  { name: 'db:prepare', summary: 'Creates the database, or runs the migrations that have not run yet.' },
  { name: 'db:migrate', summary: 'Runs the migrations that have not run yet.' },
  { name: 'db:migrate:status', summary: 'Lists migrations and whether they have run.' },
  { name: 'db:seed', summary: 'Runs db/seeds.rb.' },
  { name: 'db:rollback', summary: 'Takes the last migration back, with the tables it made.', destructive: true },
  { name: 'db:reset', summary: 'Drops the database, creates it again and runs the seeds.', destructive: true },
  { name: 'db:drop', summary: 'Drops the database.', destructive: true },
]

const assetTasks: readonly RailsTask[] = [
  { name: 'assets:precompile', summary: 'Compiles the assets for production.' },
  { name: 'assets:clobber', summary: 'Removes compiled assets.' },
]

const otherTasks: readonly RailsTask[] = [
  { name: 'routes', summary: 'Lists all routes.' },
  { name: 'zeitwerk:check', summary: 'Looks whether files and constants have fitting names.' },
  { name: 'log:clear', summary: 'Empties the log files.' },
  { name: 'tmp:clear', summary: 'Removes cached files.' },
]

function rakeActions(input: RuntimeInput): readonly ActionParts[] {
  const folder = input.settings.package as string
  const text = rakefiles.map((file) => input.source[inSource(folder, file)]).find((found) => found !== undefined)
  if (typeof text !== 'string') return []
  const bundled = usesGem(input, /^(?:rake|rails)$/) ? ['bundle', 'exec'] : []
  return tasksIn(text).map(({ name, description }) => ({
    name,
    label: `rake ${name}`,
    summary: description,
    argv: [input.toolchain.program, '-S', ...bundled, 'rake', name],
  }))
}

/** Asked for by the Gemfile, or by a gem of it as the lock file says. */
function usesGem(input: RuntimeInput, name: RegExp): boolean {
  const folder = input.settings.package as string
  const lock = input.source[inSource(folder, 'Gemfile.lock')]
  const locked = typeof lock === 'string' ? [...lock.matchAll(/^ {4}([\w-]+) \(/gm)].map(([, gem]) => gem!) : []
  return [...gemsIn(input.source[inSource(folder, 'Gemfile')]), ...locked].some((gem) => name.test(gem))
}
