import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type SourceFiles, type SuiteCommand, type SuiteInput, type SuiteType, suiteTypes } from '@stackquay/catalog'
import { settingsLike, suiteInput } from './support/suite-input.ts'

const src = new URL('../src/', import.meta.url)

function kindOf(runner: string): SuiteType {
  const kind = suiteTypes.find((one) => one.runner === runner)
  assert.ok(kind, runner)
  return kind
}

/** Names of all suites of a source, as a person would see them. */
function found(source: SourceFiles, over: Partial<SuiteInput> = {}): readonly string[] {
  return suiteTypes.flatMap((kind) => {
    const folder = over.folder ?? '.'
    const asked = new Set(kind.sourceFiles(folder))
    // Only what a kind asks for is answered.
    const answered = Object.fromEntries(Object.entries(source).filter(([file]) => asked.has(file)))
    return kind.find(suiteInput(answered, over)).map((suite) => `${kind.runner}: ${suite.name}: ${suite.because}`)
  })
}

function commandOf(runner: string, source: SourceFiles, filter: string | null = null, over: Partial<SuiteInput> = {}) {
  const [suite] = kindOf(runner).find(suiteInput(source, over))
  assert.ok(suite, `${runner} was not found`)
  return suite.command({ filter, results: '/results/run 1' })
}

function packageJson(fields: object): SourceFiles {
  return { 'package.json': JSON.stringify(fields) }
}

/** A source for each runner, in which it is the only one. */
const sources: Readonly<Record<string, SourceFiles>> = {
  'node-test': packageJson({ scripts: { test: 'node --test' } }),
  vitest: packageJson({ scripts: { test: 'vitest' }, devDependencies: { vitest: '^4.0.0' } }),
  jest: packageJson({ scripts: { test: 'jest --runInBand' } }),
  playwright: packageJson({ devDependencies: { '@playwright/test': '1.65.1' } }),
  pytest: { 'requirements.txt': 'flask\npytest>=8\n' },
  unittest: { tests: true, 'tests/__init__.py': '' },
  django: { 'manage.py': 'from django.core.management import execute_from_command_line' },
  'go-test': { 'go.mod': 'module example.org/shop' },
  rspec: { Gemfile: "gem 'rspec'\n" },
  minitest: { Gemfile: "gem 'rails'\n", 'bin/rails': '', test: true },
  phpunit: { 'composer.json': '{"require-dev":{"phpunit/phpunit":"^11"}}' },
  'cargo-test': { 'Cargo.toml': '[package]' },
}

describe('The list of suites', () => {
  test('names exactly the files beside it', () => {
    const files = readdirSync(fileURLToPath(new URL('suites/runners', src))).map((file) => file.replace('.ts', ''))
    assert.deepEqual(suiteTypes.map((kind) => kind.runner).sort(), files.sort())
    assert.deepEqual(Object.keys(sources).sort(), files.sort())
  })

  test('has only runtimes that there are', () => {
    const runtimes = readdirSync(fileURLToPath(new URL('runtimes', src)))
    for (const { runner, runtime } of suiteTypes) assert.ok(runtime === null || runtimes.includes(runtime), runner)
  })

  test('is part of the index, and what reads results is not: the page has no use for it', () => {
    const index = readFileSync(new URL('index.ts', src), 'utf8')
    assert.match(index, /suiteTypes/)
    assert.doesNotMatch(index, /results\//)
  })
})

describe('A source', () => {
  for (const [runner, source] of Object.entries(sources)) {
    test(`with ${runner} has its suite and no other, and says why`, () => {
      const names = found(source)
      assert.equal(names.length, 1, names.join('\n'))
      assert.match(names[0]!, new RegExp(`^${runner}: ${runner}: \\S.{8,}`))
    })

    test(`with ${runner} in the folder of a package has it too`, () => {
      const inFolder = Object.fromEntries(
        Object.entries(source).map(([file, text]) => [runner === 'cargo-test' ? file : `apps/web/${file}`, text]),
      )
      const names = found(inFolder, { folder: runner === 'cargo-test' ? '.' : 'apps/web' })
      assert.equal(names.length, 1, names.join('\n'))
    })
  }

  test('without any tests has none, whatever odd things it holds', () => {
    assert.deepEqual(found({}), [])
    assert.deepEqual(
      found(packageJson({ scripts: { start: 'vite', test: 'echo "Error: no test specified" && exit 1' } })),
      [],
    )
    assert.deepEqual(
      found({ 'package.json': true, 'requirements.txt': true, Gemfile: true, 'composer.json': true }),
      [],
    )
    assert.deepEqual(found({ 'package.json': '{"scripts": [1', test: 'a file', 'manage.py': 'print(1)' }), [])
    assert.deepEqual(found({ 'package.json': '{}', Gemfile: '', test: true, tests: true }), [])
  })

  test('has a suite for each way its scripts call a runner, but not for watching, coverage or updates', () => {
    const scripts = {
      test: 'vitest',
      'test:watch': 'vitest watch',
      'test:run': 'vitest run',
      'test:coverage': 'vitest run --coverage',
      'test:e2e': 'cross-env MODE=e2e vitest run --config vitest.e2e.config.ts',
      'test:chain': 'eslint . && vitest run',
    }
    const names = found(packageJson({ scripts, devDependencies: { vitest: '4' } }))
    assert.deepEqual(
      names.map((name) =>
        name
          .split(': ')
          .slice(0, -1)
          .join(': ')
          .replace(/: The.*/, ''),
      ),
      ['vitest: vitest', 'vitest: test:e2e'],
    )
  })

  test('with pytest or Django has no suite of unittest beside it', () => {
    assert.deepEqual(
      found({ ...sources.unittest, ...sources.pytest, ...sources.django }).map((name) => name.split(':')[0]),
      ['pytest', 'django'],
    )
  })
})

describe('The command of a suite', () => {
  const ofAll = (filter: string | null): readonly (readonly [string, SuiteCommand])[] =>
    Object.entries(sources).map(([runner, source]) => [runner, commandOf(runner, source, filter)])

  test('is argv with an absolute program, runs in the package and writes into the folder of results', () => {
    for (const [runner, command] of ofAll(null)) {
      assert.match(command.argv[0], /^\//, runner)
      assert.equal(command.cwd, '/projects/shop', runner)
      assert.match(command.results.file ?? '', /^[\w.-]+$/, runner)
      for (const name of Object.keys(command.files ?? {})) assert.match(name, /^[\w.-]+$/, runner)
      const said = JSON.stringify([command.argv, command.env])
      assert.ok(said.includes(`/results/run 1/${command.results.file}`), runner)
    }
  })

  test('hands a filter on whole and never as an option of its own', () => {
    for (const filter of ['--help', '-x', 'a b"c\\d$(touch /tmp/x)', '; rm -rf /']) {
      for (const [runner, { argv, env }] of ofAll(filter)) {
        const plain = argv.filter((word) => word === filter)
        const last = argv.at(-2) === '--' && argv.at(-1) === filter
        assert.ok(plain.length === 0 || (plain.length === 1 && last), `${runner}: ${argv.join(' ')}`)
        const said = [...argv, ...Object.values(env ?? {})].map(String)
        const quoted = filter.replace(/["\\]/g, '\\$&')
        assert.ok(
          said.some((word) => word.includes(filter) || word.includes(quoted)),
          runner,
        )
      }
    }
  })

  test('never watches and asks nothing', () => {
    for (const runner of ['vitest', 'jest', 'playwright', 'node-test']) {
      const command = commandOf(runner, sources[runner]!)
      assert.equal(command.env?.CI, '1', runner)
    }
    const watching = packageJson({ scripts: { test: 'vitest watch --config a.ts' }, devDependencies: { vitest: '4' } })
    const { argv } = commandOf('vitest', watching)
    assert.deepEqual(argv.slice(0, 6), ['/usr/bin/env', 'vitest', '--config', 'a.ts', '--run', '--reporter=default'])
    assert.ok(!argv.includes('watch'))
  })

  test('takes a filter that names a file as a file where the runner can', () => {
    assert.equal(commandOf('vitest', sources.vitest!, 'src/cart.test.ts').argv.at(-1), 'src/cart.test.ts')
    assert.equal(
      commandOf('pytest', sources.pytest!, 'tests/test_cart.py::test_a').argv.at(-1),
      'tests/test_cart.py::test_a',
    )
    assert.equal(commandOf('rspec', sources.rspec!, 'spec/cart_spec.rb:12').argv.at(-1), 'spec/cart_spec.rb:12')
    assert.equal(commandOf('pytest', sources.pytest!, '-x.py').argv.at(-1), '-k=-x.py')
  })

  test('keeps what the environment says already', () => {
    const secret = { secret: 'sec_1', version: 1 }
    const environment = {
      env: { PATH: ['/a:', secret], NODE_OPTIONS: '--max-old-space-size=512', RUBYOPT: ['-W0 ', secret] },
      cwd: '/projects/shop',
      setup: [],
    }
    const node = commandOf('node-test', sources['node-test']!, null, { environment })
    assert.match(String(node.env?.NODE_OPTIONS), /^--max-old-space-size=512 "--test-reporter=/)
    assert.deepEqual(node.env?.PATH, ['/projects/shop/node_modules/.bin:', '/a:', secret])
    const ruby = commandOf('minitest', sources.minitest!, null, { environment })
    assert.deepEqual(ruby.env?.RUBYOPT, ['-rstackquay_minitest ', '-W0 ', secret])
  })

  test('uses the interpreter of the virtual environment, where the packages are', () => {
    const environment = { env: { VIRTUAL_ENV: '/tools/venv-3.14' }, cwd: '/projects/shop', setup: [] }
    assert.equal(commandOf('pytest', sources.pytest!, null, { environment }).argv[0], '/tools/venv-3.14/bin/python')
    assert.equal(commandOf('pytest', sources.pytest!).argv[0], '/tools/bin/program')
  })

  test('of node:test gives as many destinations as reporters, whatever the script says itself', () => {
    const optionsOf = (script: string) => {
      const { env } = commandOf('node-test', packageJson({ scripts: { test: script } }))
      const words = `${env?.NODE_OPTIONS} ${script}`
      const count = (pattern: RegExp) => [...words.matchAll(pattern)].length
      return [count(/--test-reporter=/g), count(/--test-reporter-destination=/g)]
    }
    assert.deepEqual(optionsOf('node --test'), [2, 2])
    assert.deepEqual(optionsOf('node --test --test-reporter=dot'), [2, 2])
    assert.deepEqual(optionsOf('node --test --test-reporter=dot --test-reporter-destination=stdout'), [2, 2])
  })

  test('of Vitest says only options that its version knows', () => {
    const of = (range: string) => commandOf('vitest', packageJson({ devDependencies: { vitest: range } })).argv
    assert.ok(of('^4.1.0').includes('--includeTaskLocation'))
    assert.ok(!of('^0.34.6').includes('--includeTaskLocation'))
  })

  test('are not long in being found, however the source is written', () => {
    const million = 1_000_000
    const many = Array.from({ length: million / 20 }, (_, at) => [`test:${at}`, `node --test ${at} && vitest`])
    const texts = [
      '\n'.repeat(million),
      ' \n'.repeat(million / 2),
      `gem${' '.repeat(million)}`,
      '['.repeat(million),
      JSON.stringify({ scripts: { test: 'node '.repeat(million / 5) } }),
      JSON.stringify({ scripts: Object.fromEntries(many) }),
    ]
    for (const text of texts) {
      for (const kind of suiteTypes) {
        const before = process.cpuUsage().user
        const source = Object.fromEntries(kind.sourceFiles('.').map((file) => [file, text]))
        const specs = kind.find(suiteInput(source))
        assert.ok(specs.length <= 50, kind.runner)
        assert.ok(process.cpuUsage().user - before < 5_000_000, `${kind.runner} took longer than five seconds`)
      }
    }
  })

  test('of Go asks for whole paths only where Go knows the option', () => {
    const of = (version: string) =>
      commandOf('go-test', sources['go-test']!, null, { settings: settingsLike({ version }) }).argv
    assert.ok(of('1.26').includes('-fullpath'))
    assert.ok(!of('1.19').includes('-fullpath'))
  })
})
