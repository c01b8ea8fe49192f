import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type ActionDefinition,
  type RuntimeInput,
  runtimeTypeOf,
  runtimeTypes,
  type SourceFiles,
} from '@stackquay/catalog'
import { randomFrom } from '@stackquay/testkit/random'
import { runtimeInput } from './support/inputs.ts'

const helper = (name: string) => ({ version: '1.0.0', program: `/helpers/${name}`, directory: '/helpers' })
const helpers = Object.fromEntries(['npm', 'pnpm', 'yarn', 'bun', 'uv', 'composer'].map((name) => [name, helper(name)]))

function commandsOf(
  runtime: string,
  source: SourceFiles,
  said: Readonly<Record<string, unknown>> = {},
  over: Partial<RuntimeInput> = {},
) {
  const kind = runtimeTypeOf(runtime)!
  return kind.commands(runtimeInput(kind, said, { source, helpers, ...over }))
}

const names = (actions: readonly ActionDefinition[]) => actions.map(({ name }) => name)
const named = (actions: readonly ActionDefinition[], name: string) => actions.find((action) => action.name === name)!

describe('Commands of Node.js', () => {
  const scripts = { dev: 'vite', pretest: 'tsc', test: 'vitest run', posttest: 'true', prettier: 'prettier -w .' }
  const source = {
    'package.json': JSON.stringify({ scripts, devDependencies: { vite: '8' } }),
    'package-lock.json': '{}',
  }

  test('are the scripts of package.json in its order, without the hooks of other scripts', () => {
    const { actions } = commandsOf('node', source)
    assert.deepEqual(names(actions), ['install', 'install-exact', 'dev', 'test', 'prettier'])
    assert.deepEqual(named(actions, 'test'), {
      name: 'test',
      label: 'npm run test',
      summary: 'vitest run',
      argv: ['/helpers/npm', 'run', 'test'],
      reason: null,
      destructive: false,
      needsSetup: true,
    })
    assert.deepEqual(
      [named(actions, 'install'), named(actions, 'install-exact')].map(({ label, needsSetup }) => ({
        label,
        needsSetup,
      })),
      [
        { label: 'npm install', needsSetup: false },
        { label: 'npm ci', needsSetup: false },
      ],
    )
  })

  test('are called with the package manager that was chosen', () => {
    for (const packageManager of ['pnpm', 'yarn', 'bun']) {
      const { argv, label } = named(commandsOf('node', source, { packageManager }).actions, 'dev')
      assert.deepEqual([argv, label], [[`/helpers/${packageManager}`, 'run', 'dev'], `${packageManager} run dev`])
    }
  })

  test('know the job that installs: the one of the server, also while the server is off or cannot run', () => {
    const kind = runtimeTypeOf('node')!
    const [server] = kind.toWorkloads(runtimeInput(kind, {}, { source, helpers }))
    for (const said of [{}, { server: false }, { script: 'no such script' }, { debug: true, script: 'test' }]) {
      assert.deepEqual(commandsOf('node', source, said).environment.setup, server!.setup)
    }
  })

  test('run in the folder of the package, with installed programs first on PATH and nothing about a port', () => {
    const { environment } = commandsOf(
      'node',
      source,
      { package: 'apps/web' },
      { env: { SECRET: [{ secret: 's', version: 1 }] } },
    )
    assert.equal(environment.cwd, '/projects/shop/apps/web')
    assert.match(
      String(environment.env.PATH),
      /^\/projects\/shop\/apps\/web\/node_modules\/\.bin:\/projects\/shop\/node_modules\/\.bin:\/tools\/bin:\/usr\/local\/sbin:/,
    )
    assert.deepEqual(environment.env.SECRET, [{ secret: 's', version: 1 }])
    assert.equal('PORT' in environment.env || 'HOST' in environment.env, false)
  })

  test('leave NODE_ENV to test runners and bundlers', () => {
    for (const mode of ['development', 'production'])
      assert.equal('NODE_ENV' in commandsOf('node', source, { mode }).environment.env, false)
  })

  test('say what is missing: package.json, or the package manager', () => {
    const empty = commandsOf('node', {})
    assert.deepEqual(names(empty.actions), ['install'])
    assert.match(empty.actions[0]!.reason!, /No package\.json in the project: add one/)
    const { environment, actions } = commandsOf('node', source, { packageManager: 'pnpm' }, { helpers: {} })
    assert.deepEqual(environment.setup, [])
    assert.match(environment.setupReason!, /pnpm is not installed on this machine\. Install it/)
    for (const action of actions) {
      assert.match(action.reason!, /pnpm is not installed/)
      assert.equal(action.argv[1], 'pnpm')
    }
  })

  test('need no package manager for a setup that somebody has done already', () => {
    const there = { ...source, node_modules: true as const }
    assert.equal(commandsOf('node', there, {}, { helpers: {} }).environment.setupReason, null)
  })
})

describe('Commands of Python', () => {
  const django = { 'manage.py': '"DJANGO_SETTINGS_MODULE", "shop.settings"', 'requirements.txt': 'django' }

  test('are Django’s own where there is a manage.py, run by the virtual environment', () => {
    const { environment, actions } = commandsOf('python', django, { preset: 'django', version: '3.14' })
    assert.deepEqual(names(actions), [
      'install',
      'check',
      'migrate',
      'makemigrations',
      'showmigrations',
      'collectstatic',
      'clearsessions',
      'flush',
    ])
    const python = `${String(environment.env.VIRTUAL_ENV)}/bin/python`
    assert.deepEqual(named(actions, 'migrate').argv, [python, 'manage.py', 'migrate', '--noinput'])
    assert.ok(String(environment.env.PATH).startsWith(`${String(environment.env.VIRTUAL_ENV)}/bin:/tools/bin:`))
    assert.deepEqual(
      actions.filter(({ destructive }) => destructive).map(({ name }) => name),
      ['flush'],
    )
    assert.equal(named(actions, 'install').label, 'pip install -r requirements.txt')
  })

  test('install with the job of the server, also while there is no application to serve', () => {
    const kind = runtimeTypeOf('python')!
    const [server] = kind.toWorkloads(runtimeInput(kind, { preset: 'django' }, { source: django, helpers }))
    assert.deepEqual(commandsOf('python', django, { preset: 'django' }).environment.setup, server!.setup)
    const more = { ...django, 'requirements-dev.txt': 'gunicorn\ndjango', 'Gemfile.lock': 'gunicorn' }
    const said = { preset: 'django', mode: 'production' }
    assert.deepEqual(
      commandsOf('python', more, said).environment.setup,
      kind.toWorkloads(runtimeInput(kind, said, { source: django, helpers }))[0]!.setup,
    )
    const lost = { 'app.py': 'nothing here', 'requirements.txt': 'flask' }
    assert.throws(() => kind.toWorkloads(runtimeInput(kind, {}, { source: lost, helpers })))
    assert.equal(commandsOf('python', lost).environment.setup.length, 1)
  })

  test('are the scripts of pyproject.toml, called from the source', () => {
    const pyproject = `[project]\nname = "shop"\n\n[project.scripts]\nserve = "shop.cli:main" # the server\n"re-index" = "shop.search:Index.rebuild"\nodd = ["x"]\n[tool.other]\nno = "a:b"\n`
    const { actions } = commandsOf('python', { 'pyproject.toml': pyproject })
    assert.deepEqual(names(actions), ['install', 'serve', 're-index'])
    assert.deepEqual(named(actions, 're-index').argv.slice(3), ['re-index', 'shop.search', 'Index.rebuild'])
  })

  test('are those of Flask and Alembic where these are used', () => {
    const source = {
      'app.py': 'app = Flask(__name__)',
      'requirements.txt': 'flask',
      'alembic.ini': '',
      'migrations/alembic.ini': '',
    }
    const { actions } = commandsOf('python', source, { preset: 'flask' })
    assert.deepEqual(names(actions).slice(1), [
      'routes',
      'db.upgrade',
      'db.downgrade',
      'alembic.upgrade',
      'alembic.current',
      'alembic.downgrade',
    ])
    assert.deepEqual(named(actions, 'alembic.upgrade').argv, ['/usr/bin/env', 'alembic', 'upgrade', 'head'])
    assert.deepEqual(named(actions, 'routes').argv.slice(1), ['-m', 'flask', '--app', 'app:app', 'routes'])
  })

  test('say that uv is missing, and still open a terminal', () => {
    const { environment, actions } = commandsOf('python', django, { packageManager: 'uv' }, { helpers: {} })
    assert.match(environment.setupReason!, /uv is not installed/)
    assert.match(named(actions, 'install').reason!, /uv is not installed/)
  })
})

describe('Commands of Go', () => {
  test('are those of a whole module, with shared caches', () => {
    const { environment, actions } = commandsOf('go', { 'go.mod': 'module shop\nrequire example.org/x v1.0.0\n' })
    assert.deepEqual(names(actions), ['download', 'tidy', 'build', 'vet', 'generate'])
    assert.deepEqual(named(actions, 'vet').argv, ['/tools/bin/program', 'vet', './...'])
    assert.equal(environment.env.GOTOOLCHAIN, 'local')
    assert.equal(environment.setup[0]?.name, 'install')
  })

  test('run in the folder of the module, which is the package’s when it has one', () => {
    const source = { 'go.mod': 'module a', 'cmd/web/go.mod': 'module b' }
    assert.equal(commandsOf('go', source, { package: 'cmd/web' }).environment.cwd, '/projects/shop/cmd/web')
    assert.equal(commandsOf('go', source, { package: 'cmd/api' }).environment.cwd, '/projects/shop')
  })

  test('say that there is no module', () => {
    for (const action of commandsOf('go', {}).actions) assert.match(action.reason!, /No go\.mod was found/)
  })
})

describe('Commands of Ruby', () => {
  const rails = { Gemfile: 'gem "rails"\ngem "propshaft"', 'bin/rails': '', 'config/database.yml': '' }

  test('are Rails’ own, the dropping ones marked', () => {
    const { actions } = commandsOf('ruby', rails, { preset: 'rails' })
    assert.deepEqual(named(actions, 'db:migrate').argv, [
      '/tools/bin/program',
      '-S',
      'bundle',
      'exec',
      'rails',
      'db:migrate',
    ])
    assert.deepEqual(
      actions.filter(({ destructive }) => destructive).map(({ name }) => name),
      ['db:rollback', 'db:reset', 'db:drop'],
    )
    assert.ok(names(actions).includes('assets:precompile'))
  })

  test('leave out databases and assets where Rails has none', () => {
    const { actions } = commandsOf('ruby', { Gemfile: 'gem "rails"', 'bin/rails': '' }, { preset: 'rails' })
    assert.deepEqual(names(actions), ['install', 'outdated', 'routes', 'zeitwerk:check', 'log:clear', 'tmp:clear'])
  })

  test('are the described tasks of the Rakefile, with their namespaces', () => {
    const rakefile = `require 'rake'
desc "Counts all"
task :count do
  puts 1
end

namespace :db do
  desc 'Copies the data'
  task :copy, [:from] => :environment do |t, args|
    if args.from
    end
  end
  task :hidden do
  end
  namespace "deep" do
    desc "Looks"
    task look: %i[count] do
    end
  end
end

desc "Again at the top"
task "report"
`
    const bundled = commandsOf('ruby', { Gemfile: "gem 'rake'", Rakefile: rakefile }).actions
    assert.deepEqual(names(bundled), ['install', 'outdated', 'count', 'db:copy', 'db:deep:look', 'report'])
    assert.deepEqual(named(bundled, 'db:copy').argv.slice(1), ['-S', 'bundle', 'exec', 'rake', 'db:copy'])
    assert.equal(named(bundled, 'db:copy').summary, 'Copies the data')
    const alone = commandsOf('ruby', { Rakefile: rakefile }).actions
    assert.deepEqual(named(alone, 'count').argv.slice(1), ['-S', 'rake', 'count'])
    assert.match(named(alone, 'install').reason!, /There is no Gemfile/)
  })

  test('keep gems in the project’s own folder and choose no environment, but production', () => {
    const { environment } = commandsOf(
      'ruby',
      rails,
      { preset: 'rails' },
      {
        toolchain: { version: '3.4.2', program: '/r/ruby', directory: '/r' },
      },
    )
    assert.equal(environment.env.BUNDLE_PATH, '/home/tools/prj_1/gems-3.4')
    assert.equal(environment.env.GEM_HOME, '/home/tools/prj_1/gems-3.4/ruby/3.4.0')
    assert.equal(environment.env.RAILS_ENV, undefined)
    const production = commandsOf('ruby', rails, { preset: 'rails', mode: 'production' })
    assert.equal(production.environment.env.RAILS_ENV, 'production')
  })
})

describe('Commands of PHP', () => {
  const composerJson = JSON.stringify({
    require: { 'doctrine/doctrine-bundle': '2' },
    scripts: {
      lint: ['pint --test', 'phpstan'],
      migrate: '@php artisan migrate',
      'post-install-cmd': 'no',
      '-v': 'no',
      install: 'no',
    },
    'scripts-descriptions': { lint: 'Looks for faults.' },
  })

  test('are artisan’s, Composer’s and the scripts of composer.json', () => {
    const source = { artisan: '', 'composer.json': composerJson }
    const { actions } = commandsOf('php', source, { preset: 'laravel', ini: { memory_limit: '1G' } })
    assert.deepEqual(named(actions, 'migrate').argv, [
      '/tools/bin/program',
      '-d',
      'memory_limit=1G',
      'artisan',
      'migrate',
      '--force',
      '--no-interaction',
    ])
    assert.deepEqual(
      actions.filter(({ destructive }) => destructive).map(({ name }) => name),
      ['migrate:rollback', 'migrate:fresh', 'key:generate'],
    )
    assert.deepEqual(names(actions).slice(-2), ['lint', 'composer:migrate'])
    assert.equal(named(actions, 'lint').summary, 'Looks for faults.')
    assert.deepEqual(named(actions, 'lint').argv.slice(0, 3), ['/tools/bin/program', '/helpers/composer', 'run-script'])
  })

  test('are those of Symfony’s console, Doctrine’s where it is used', () => {
    const { actions } = commandsOf('php', { 'bin/console': '', 'composer.json': composerJson }, { preset: 'symfony' })
    assert.ok(names(actions).includes('debug:router'))
    assert.equal(named(actions, 'doctrine:database:drop').destructive, true)
    const plain = commandsOf('php', { 'bin/console': '', 'composer.json': '{}' }, { preset: 'symfony' })
    assert.equal(
      names(plain.actions).some((name) => name.startsWith('doctrine')),
      false,
    )
  })

  test('say that Composer is missing, unless its packages are there already', () => {
    const source = { artisan: '', 'composer.json': composerJson }
    const { environment, actions } = commandsOf('php', source, { preset: 'laravel' }, { helpers: {} })
    assert.match(environment.setupReason!, /Composer is not installed on this machine/)
    assert.match(named(actions, 'lint').reason!, /Composer is not installed/)
    assert.equal(named(actions, 'route:list').reason, null)
    assert.equal(commandsOf('php', { ...source, vendor: true }, {}, { helpers: {} }).environment.setupReason, null)
  })
})

describe('Commands of static files', () => {
  test('are a terminal in the project', () => {
    const { environment, actions } = commandsOf('static', { 'index.html': '' }, {}, { env: { A: 'b' } })
    assert.deepEqual([environment.cwd, environment.env.A, environment.setup, actions], ['/projects/shop', 'b', [], []])
  })
})

describe('Sources that want to do harm', () => {
  const hostile = [
    '-rf',
    '--version',
    '//',
    '../up',
    'a b',
    'a\nb',
    '\u202egnp',
    'x'.repeat(100_000),
    '',
    '$(id)',
    ';id',
  ]

  test('get no action whose name could be an option, a path or another line', () => {
    const scripts = Object.fromEntries([...hostile, 'fine'].map((name) => [name, `echo ${name.slice(0, 10)}`]))
    const node = commandsOf('node', { 'package.json': JSON.stringify({ scripts }) })
    assert.deepEqual(names(node.actions), ['install', 'fine'])
    const php = commandsOf('php', { 'composer.json': JSON.stringify({ scripts }) })
    assert.deepEqual(names(php.actions), ['install', 'validate', 'fine'])
  })

  test('cannot reach what every object inherits', () => {
    const text =
      '{"scripts":{"__proto__":"echo 1","constructor":"echo 2","preconstructor":"echo 3","toString":4,"pretoString":"echo 5"}}'
    const { actions } = commandsOf('node', { 'package.json': text })
    assert.deepEqual(names(actions), ['install', '__proto__', 'constructor', 'pretoString'])
    assert.equal(({} as Record<string, unknown>)['1'], undefined)
    const kind = runtimeTypeOf('node')!
    const source = { 'package.json': '{"scripts":{}}' }
    assert.throws(
      () => kind.toWorkloads(runtimeInput(kind, { script: 'constructor' }, { source, helpers })),
      /has no script "constructor"/,
    )
  })

  test('offer two hundred actions and not more, with summaries of a line', () => {
    const long = `${'y'.repeat(500)}\u001b[2J\r\n\u202e`
    const scripts = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`s${index}`, long]))
    const { actions } = commandsOf('node', { 'package.json': JSON.stringify({ scripts }) })
    assert.equal(actions.length, 200)
    for (const { summary } of actions) assert.match(summary, /^[ -~]{1,159}…?$/)
  })

  test('are not read when a package file is larger or nested deeper than people write', () => {
    const large = JSON.stringify({ scripts: { fine: 'echo' }, padding: 'x'.repeat(300_000) })
    const deep = `{"scripts":{"fine":"echo"},"a":${'['.repeat(200)}${']'.repeat(200)}}`
    for (const text of [large, deep]) {
      const { actions } = commandsOf('node', { 'package.json': text })
      assert.deepEqual(names(actions), ['install'])
      const kind = runtimeTypeOf('node')!
      const input = runtimeInput(kind, { script: 'fine' }, { source: { 'package.json': text }, helpers })
      assert.throws(() => kind.toWorkloads(input), /is larger than 256 KiB, or is nested too deeply/)
    }
  })

  test('that are not what their names promise are no blocker', () => {
    const files = [...new Set(runtimeTypes.flatMap((kind) => filesOf(kind.name)))]
    const random = randomFrom(20_261_122)
    const pieces = [
      '{"scripts":',
      '[]',
      '{',
      '"a":',
      'null',
      '12',
      '{"x":{"y":[]}}',
      'task :a',
      'desc "',
      '[project.scripts]',
      '\n',
      ' = "a:b"',
      'namespace :n do',
      'end',
      'gem "rails"',
      'require',
      '=',
      '\0',
      '"',
    ]
    for (let round = 0; round < 2000; round += 1) {
      const source: Record<string, string | true> = {}
      for (const file of files) {
        const dice = random()
        if (dice < 0.5) continue
        source[file] =
          dice < 0.6
            ? true
            : Array.from({ length: Math.floor(random() * 8) }, () => pieces[Math.floor(random() * pieces.length)]).join(
                '',
              )
      }
      for (const kind of runtimeTypes) {
        const preset = kind.presets[Math.floor(random() * kind.presets.length)]!.name
        const said = { preset, server: random() < 0.5, mode: random() < 0.5 ? 'development' : 'production' }
        const some = random() < 0.5 ? helpers : {}
        const { environment, actions } = commandsOf(kind.name, source, said, { helpers: some })
        assert.ok(environment.cwd.startsWith('/') && typeof environment.env.PATH === 'string')
        assert.equal(new Set(names(actions)).size, actions.length)
        for (const { argv, name } of actions) assert.ok(argv[0].startsWith('/') && /^[\w@][\w.:@/-]*$/.test(name))
      }
    }
  })

  test('do not take long to read, however they are written', () => {
    const million = 1_000_000
    const texts = [
      ' '.repeat(million),
      '\n'.repeat(million),
      '\t\n'.repeat(million / 2),
      `a = "${' '.repeat(million)}`,
      'task '.repeat(million / 5),
      '{"a":'.repeat(million / 5),
    ]
    for (const text of texts) {
      for (const kind of runtimeTypes) {
        const source = Object.fromEntries(filesOf(kind.name).map((file) => [file, text]))
        const before = process.cpuUsage().user
        commandsOf(kind.name, source)
        assert.ok(process.cpuUsage().user - before < 5_000_000, `${kind.name} took longer than five seconds`)
      }
    }
  })
})

function filesOf(runtime: string): readonly string[] {
  const kind = runtimeTypeOf(runtime)!
  const { settings } = runtimeInput(kind)
  return [...kind.sourceFiles(settings), ...kind.commandFiles(settings)]
}
