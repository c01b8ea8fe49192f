import type { Job } from '@stackquay/engine-api'
import type {
  Preset,
  RuntimeCommands,
  RuntimeInput,
  RuntimeType,
  Settings,
  SourceFiles,
  WorkloadSpec,
} from '../../entry-types.ts'
import { RelativeFolder, runtimeSettings } from '../../runtime-settings.ts'
import { below, inSource, installVariables, refuseDebug, searchPath, serverWorkload } from '../../server-workload.ts'
import { commandEnvironment } from '../command-environment.ts'
import { commandFiles, rubyActions } from './actions.ts'
import { gemsIn, serverCommand } from './commands.ts'
import { programs } from './programs.ts'

const presets: readonly Preset[] = [
  { name: 'rails', label: 'Rails', port: 3000, summary: 'rails server' },
  { name: 'sinatra', label: 'Sinatra', port: 4567, summary: 'A Sinatra application: config.ru, or app.rb by itself.' },
  { name: 'rack', label: 'Rack', port: 9292, summary: 'Any Rack application with a config.ru.' },
]

export const ruby: RuntimeType = {
  kind: 'runtime',
  name: 'ruby',
  label: 'Ruby',
  summary: 'Rails, Sinatra and other Rack applications, with their gems.',
  urlOrder: 40,
  settings: runtimeSettings(
    presets,
    { package: RelativeFolder.describe('Folder of the application; "." is the project itself.') },
    { package: '.', debugPort: 12345 },
  ),
  presets,
  presetDrops: [],
  toolchain: {
    name: 'ruby',
    programs: ['ruby', ...['4.0', '3.4', '3.3', '3.2', '3.1'].map((line) => `ruby${line}`)],
    places: ['/opt/rubies/*/bin/ruby', '/opt/homebrew/opt/ruby/bin/ruby'],
    versionArgs: ['--version'],
    versionPattern: '^ruby (\\d+\\.\\d+\\.\\d+)',
  },
  helpers: [],
  image: {
    reference: (line) => `ruby:${line}-slim-bookworm`,
    builtIn: 'ruby',
    program: () => '/usr/local/bin/ruby',
    user: null,
  },
  releases: [
    { version: '4.0', endOfLife: '2029-03-31' },
    { version: '3.4', endOfLife: '2028-03-31' },
    { version: '3.3', endOfLife: '2027-03-31' },
    { version: '3.2', endOfLife: '2026-03-31' },
    { version: '3.1', endOfLife: '2025-03-31' },
  ],
  lineOf: (version) => version.split('.').slice(0, 2).join('.'),
  install: {
    debian: 'apt-get install -y ruby ruby-dev ruby-bundler build-essential',
    other: 'Install Ruby with Bundler from ruby-lang.org.',
  },
  sourceFiles: (stored: Settings) => files.map((file) => inSource(String(stored.package ?? '.'), file)),
  detect,
  toWorkloads,
  commandFiles: (stored: Settings) => commandFiles(String(stored.package ?? '.')),
  commands,
  programs,
  // Bundler's `vendor/bundle` is not in it: the folder above holds what people write.
  rebuildable: [],
}

const files = ['Gemfile', 'Gemfile.lock', 'config.ru', 'app.rb', 'bin/rails', 'config/application.rb']

function detect(source: SourceFiles) {
  if ('bin/rails' in source || 'config/application.rb' in source) {
    return { confidence: 0.95, because: 'bin/rails is there', settings: { preset: 'rails' } }
  }
  const gems = gemsIn(source.Gemfile)
  if (gems.has('sinatra'))
    return { confidence: 0.9, because: 'Gemfile asks for sinatra', settings: { preset: 'sinatra' } }
  if (!('config.ru' in source)) return null
  return { confidence: 0.8, because: 'config.ru is there', settings: { preset: 'rack' } }
}

function toWorkloads(input: RuntimeInput): readonly WorkloadSpec[] {
  const { settings, source, project } = input
  if (!settings.server) return []
  refuseDebug(
    input,
    'The debugger of Ruby programs is not offered yet.',
    'Set "debug" to false, or run "rdbg" yourself with "command".',
  )
  const folder = settings.package as string
  const cwd = below(project.path, folder)
  const gemfile = source[inSource(folder, 'Gemfile')]
  const listen = input.listen('ruby', 'http')
  const { words, requires, hint } = serverCommand({
    preset: settings.preset,
    listen,
    gems: gemsIn(gemfile),
    hasConfigRu: inSource(folder, 'config.ru') in source,
    pidFile: `${project.toolsPath}/rails-${listen.port}.pid`,
    ruby: input.toolchain.program,
    bundled: gemfile !== undefined,
  })
  const isRails = settings.preset === 'rails'
  return [
    serverWorkload(input, {
      name: 'ruby',
      title: 'Ruby server',
      argv: words,
      cwd,
      env: {
        ...gemVariables(input),
        RACK_ENV: settings.mode,
        APP_ENV: settings.mode,
        ...(isRails ? railsVariables(input) : {}),
      },
      path: [input.toolchain.directory],
      setup: gemfile === undefined ? [] : [installJob(input, cwd)],
      requires: [{ anyOf: requires.map((file) => below(cwd, file)) as [string, ...string[]], hint }],
    }),
  ]
}

function commands(input: RuntimeInput): RuntimeCommands {
  const folder = input.settings.package as string
  const cwd = below(input.project.path, folder)
  const isBundled = inSource(folder, 'Gemfile') in input.source
  const gems = gemHome(input)
  return {
    environment: commandEnvironment(input, {
      cwd,
      env: {
        ...gemVariables(input),
        // Programs of gems run by their own names too, and "gem install" needs no rights on the machine.
        GEM_HOME: gems,
        // Development is what Ruby's tools take by themselves; tests choose "test" only when the variable is not set.
        ...(input.settings.mode === 'production'
          ? { RACK_ENV: 'production', APP_ENV: 'production', RAILS_ENV: 'production' }
          : {}),
      },
      path: [`${gems}/bin`, input.toolchain.directory],
      install: isBundled ? () => installJob(input, cwd) : null,
    }),
    actions: rubyActions(input),
  }
}

function installJob(input: RuntimeInput, cwd: string): Job {
  return {
    name: 'install',
    title: 'Install gems (bundle install)',
    argv: [input.toolchain.program, '-S', 'bundle', 'install'],
    cwd,
    env: { ...gemVariables(input), ...installVariables(input.env), PATH: searchPath([input.toolchain.directory]) },
    timeoutSeconds: 1800,
    inputs: [`${cwd}/Gemfile`, `${cwd}/Gemfile.lock`],
    creates: gemFolder(input),
  }
}

/** Gems with native parts belong to one release line. */
function gemFolder(input: RuntimeInput): string {
  return `${input.project.toolsPath}/gems-${input.toolchain.version.split('.').slice(0, 2).join('.')}`
}

/** Where Bundler and RubyGems keep gems below it: by the version of Ruby's own interface. */
function gemHome(input: RuntimeInput): string {
  return `${gemFolder(input)}/ruby/${input.toolchain.version.split('.').slice(0, 2).join('.')}.0`
}

function gemVariables(input: RuntimeInput) {
  return { BUNDLE_PATH: gemFolder(input), BUNDLE_USER_HOME: `${input.project.toolsPath}/bundler` }
}

function railsVariables(input: RuntimeInput) {
  return {
    RAILS_ENV: input.settings.mode,
    RAILS_LOG_TO_STDOUT: '1',
    RAILS_SERVE_STATIC_FILES: '1',
    // Rails refuses unknown host names; names below localhost are allowed without this.
    RAILS_DEVELOPMENT_HOSTS: new URL(input.project.url).hostname,
  }
}
