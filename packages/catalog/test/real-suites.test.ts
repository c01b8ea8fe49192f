import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { broken, command, goModule, goVariables, putFiles, pythonPackages } from './support/real-projects.ts'
import { assertFilterIsText, assertRun, kindOf, made, temporary, without } from './support/real-runs.ts'
import { type RealRun, runSuite } from './support/run-suite.ts'
import {
  cargoSource,
  goSource,
  minitestSource,
  phpunitSource,
  pollsSource,
  pytestSource,
  rspecSource,
  unittestSource,
} from './support/suite-sources.ts'

describe('Real suites of Python', () => {
  test('pytest: parameters, a fixture that fails, marks, a file that cannot be loaded, filters', async () => {
    const env = { VIRTUAL_ENV: await pythonPackages(pythonTestPackages) }
    const path = await temporary(without(pytestSource, 'tests/test_broken.py'))
    const run = (filter: string | null = null) => runSuite(kindOf('pytest'), { path, env }, filter)
    assertRun(
      await run(),
      path,
      {
        passed: 2,
        failed: 2,
        skipped: 2,
        failures: ['tests/test_cart.py:12 test_one[items1]', 'tests/test_cart.py:17 test_basket'],
      },
      /tests\/test_cart\.py:12: AssertionError[\s\S]*1 failed, 2 passed, 1 skipped, 1 xfailed, 1 error in/,
    )
    assert.deepEqual(
      (await run('empty')).results.cases.map((one) => one.name),
      ['test_empty'],
    )
    const node = await run('tests/test_cart.py::TestCart::test_one')
    assert.equal(node.results.cases.length, 2)
    await assertFilterIsText(run)

    await putFiles(path, { 'tests/test_broken.py': pytestSource['tests/test_broken.py'] })
    assertRun(
      await run(),
      path,
      { passed: 0, failed: 1, skipped: 0, failures: ['tests/test_broken.py:1 tests.test_broken'] },
      /tests\/test_broken\.py:1: in <module>[\s\S]*1 error in/,
    )
  })

  test('unittest: subtests count with their test, as unittest counts them', async () => {
    const path = await temporary(unittestSource)
    const run = (filter: string | null = null) => runSuite(kindOf('unittest'), { path, program: systemPython }, filter)
    assertRun(
      await run(),
      path,
      {
        passed: 2,
        failed: 4,
        skipped: 1,
        failures: [
          'tests/test_broken.py:1 tests.test_broken',
          'tests/test_cart.py:14 test_parts',
          'tests/test_cart.py:28 setUpClass (tests.test_cart.WithoutFloor)',
          'tests/test_cart.py:9 test_counts',
        ],
      },
      /Ran 6 tests in [\s\S]*FAILED \(failures=2, errors=2, skipped=1, expected failures=1\)/,
    )
    // A file that cannot be loaded is there whatever is asked for.
    await rm(join(path, 'tests/test_broken.py'))
    assert.deepEqual(
      (await run('CartTest.test_empty')).results.cases.map((one) => one.name),
      ['test_empty'],
    )
    await assertFilterIsText(run)
  })

  test('Django: the tutorial’s polls with its own failing test, and in several processes below a runner of the project', async () => {
    const venv = await pythonPackages(pythonTestPackages)
    const path = await temporary({})
    await command(join(venv, 'bin/django-admin'), ['startproject', 'mysite', '.'], path)
    await command(join(venv, 'bin/python'), ['manage.py', 'startapp', 'polls'], path)
    await putFiles(path, pollsSource)
    await broken(join(path, 'mysite/settings.py'), 'INSTALLED_APPS = [', "INSTALLED_APPS = [\n    'polls',")
    const said = {
      passed: 2,
      failed: 1,
      skipped: 0,
      failures: ['polls/tests.py:17 test_was_published_recently_with_future_question'],
    }
    const output = /polls\/tests\.py", line 17, in test_was_published[\s\S]*Ran 3 tests in [\s\S]*FAILED \(failures=1\)/
    const run = (filter: string | null) => runSuite(kindOf('django'), { path, env: { VIRTUAL_ENV: venv } }, filter)
    assertRun(await run(null), path, said, output)
    assert.deepEqual(
      (await run('recent_question')).results.cases.map((one) => `${one.outcome} ${one.name}`),
      ['passed test_was_published_recently_with_recent_question'],
    )
    await assertFilterIsText(run)

    await putFiles(path, ownDjangoRunner)
    await broken(
      join(path, 'mysite/settings.py'),
      'DEBUG = True',
      "DEBUG = True\nTEST_RUNNER = 'mysite.runner.TwoProcesses'",
    )
    const parallel = /Found 4 test\(s\)[\s\S]*Cloning test database[\s\S]*Ran 4 tests in /
    assertRun(await run(null), path, { ...said, passed: 3 }, parallel)
  })
})

/** Debian’s own tells of a package that does not compile in text alone; one that is newer may come before it on the PATH. */
const debianGo = '/usr/lib/go-1.19/bin/go'
const gos = ['go', ...(existsSync(debianGo) ? [debianGo] : [])]

describe('Real suites of Go', () => {
  test('a public module with a test that fails: counts, file and line, readable output', async () => {
    const path = await goModule(shlex, (copy) =>
      broken(join(copy, 'shlex_test.go'), '"fourteen/14"}\n\tgot, err', '"fourteen/15"}\n\tgot, err'),
    )
    made.push(path)
    const run = await goRun(path)
    assertRun(
      run,
      path,
      { passed: 3, failed: 1, skipped: 0, failures: ['shlex_test.go:98 TestSplit'] },
      /shlex_test\.go:98: Split\([\s\S]*--- FAIL: TestSplit[\s\S]*FAIL\s+github\.com\/google\/shlex/,
    )
    assert.doesNotMatch(run.output, /"Action"/)
    assert.equal(run.code, 1)
  })

  for (const go of gos)
    test(`subtests, a package that does not compile, a panic, filters: ${go}`, async () => {
      const path = await temporary(goSource)
      const { results, output } = await goRun(path, null, go)
      assert.deepEqual(
        results.cases
          .filter((one) => one.outcome === 'failed')
          .map((one) => `${(one.file ?? '').split('/').at(-1)}:${one.line} ${one.name}`)
          .sort(),
        [
          ':null TestTotal',
          'broken_test.go:6 example.org/shop/broken',
          'cart_test.go:9 TestTotal/two_parts',
          'panics_test.go:7 TestPanics',
        ],
        output,
      )
      const only = await goRun(path, 'TestShared', go)
      assert.deepEqual(
        only.results.cases.filter((one) => one.group === 'example.org/shop/cart').map((one) => one.name),
        ['TestShared'],
      )
    })
})

describe('Real suites of Ruby', () => {
  test('RSpec: counts, the failed example, a file that cannot be loaded, filters', async () => {
    const path = await temporary({ ...without(rspecSource, 'spec/broken_spec.rb'), '.rspec': '' })
    const run = (filter: string | null = null) => runSuite(kindOf('rspec'), { path, program: '/usr/bin/ruby' }, filter)
    assertRun(
      await run(),
      path,
      { passed: 1, failed: 1, skipped: 1, failures: ['./spec/cart_spec.rb:10 counts them'] },
      /# \.\/spec\/cart_spec\.rb:10:in[\s\S]*3 examples, 1 failure, 1 pending/,
    )
    assert.deepEqual(
      (await run('is empty')).results.cases.map((one) => one.name),
      ['is empty'],
    )
    assert.deepEqual(
      (await run('spec/cart_spec.rb:4')).results.cases.map((one) => one.name),
      ['is empty'],
    )
    await assertFilterIsText(run)

    await putFiles(path, { 'spec/broken_spec.rb': rspecSource['spec/broken_spec.rb'] })
    assertRun(
      await run(),
      path,
      { passed: 0, failed: 1, skipped: 0, failures: ['./spec/broken_spec.rb:1 broken_spec.rb'] },
      /0 examples, 0 failures, 1 error occurred outside of examples/,
    )
  })

  test('Minitest below rake: counts, failed tests, filters', async () => {
    const path = await temporary(minitestSource)
    const run = (filter: string | null = null) =>
      runSuite(kindOf('minitest'), { path, program: '/usr/bin/ruby' }, filter)
    assertRun(
      await run(),
      path,
      {
        passed: 1,
        failed: 2,
        skipped: 1,
        failures: ['test/cart_test.rb:17 test_raises', 'test/cart_test.rb:9 test_counts'],
      },
      /4 runs, 2 assertions, 1 failures, 1 errors, 1 skips/,
    )
    assert.deepEqual(
      (await run('test_empty')).results.cases.map((one) => one.name),
      ['test_empty'],
    )
    assert.deepEqual((await run('/empty|shared/')).results.cases.map((one) => one.name).sort(), [
      'test_empty',
      'test_shared',
    ])
    await assertFilterIsText(run)
  })
})

describe('Real suites of PHP and Rust', () => {
  test('PHPUnit: data sets, failed tests, filters', async () => {
    const path = await temporary(phpunitSource)
    const run = (filter: string | null = null) => runSuite(kindOf('phpunit'), { path }, filter)
    assertRun(
      await run(),
      path,
      {
        passed: 2,
        failed: 2,
        skipped: 1,
        failures: ['tests/CartTest.php:14 testCounts with data set #1', 'tests/CartTest.php:29 testRaises'],
      },
      /tests\/CartTest\.php:14[\s\S]*Tests: 5, Assertions: 3, Errors: 1, Failures: 1, Skipped: 1\./,
    )
    assert.deepEqual(
      (await run('testEmpty')).results.cases.map((one) => one.name),
      ['testEmpty'],
    )
    await assertFilterIsText(run)
  })

  test('cargo: unit, integration and documentation tests, the failed one, filters', async () => {
    const path = await temporary(cargoSource)
    const run = (filter: string | null = null) => runSuite(kindOf('cargo-test'), { path, env: rustVariables() }, filter)
    assertRun(
      await run(),
      path,
      { passed: 4, failed: 1, skipped: 1, failures: ['src/lib.rs:21 tests::counts'] },
      /panicked at [\s\S]*src\/lib\.rs:21:9[\s\S]*test result: FAILED\. 2 passed; 1 failed; 1 ignored;/,
    )
    assert.deepEqual(
      (await run('tests::adds')).results.cases.map((one) => one.name),
      ['tests::adds'],
    )
    await assertFilterIsText(run)
  })
})

const shlex = 'github.com/google/shlex@v0.0.0-20191202100458-e7afc7fbc510'
// Django needs tblib to hand failures from one process to another.
const pythonTestPackages = ['django==5.2.19', 'pytest==9.2.0', 'tblib==3.2.2']
const systemPython = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3'

async function goRun(path: string, filter: string | null = null, go = 'go'): Promise<RealRun> {
  const version = /go(\d+\.\d+)/.exec(await command(go, ['version'], path))?.[1] ?? ''
  const goRoot = (await command(go, ['env', 'GOROOT'], path)).trim()
  const project = { path, program: join(goRoot, 'bin/go'), settings: { version }, env: goVariables() }
  return runSuite(kindOf('go-test'), project, filter)
}

/** rustup finds its toolchains below the home folder, which is another one in a test. */
function rustVariables(): Readonly<Record<string, string>> {
  const home = process.env.HOME ?? ''
  return {
    RUSTUP_HOME: process.env.RUSTUP_HOME ?? join(home, '.rustup'),
    CARGO_HOME: process.env.CARGO_HOME ?? join(home, '.cargo'),
  }
}

const ownDjangoRunner = {
  'mysite/runner.py': `from django.test.runner import DiscoverRunner


class TwoProcesses(DiscoverRunner):
    def __init__(self, *arguments, **named):
        named["parallel"] = 2
        super().__init__(*arguments, **named)
`,
  'polls/test_more.py': `from django.test import TestCase


class MoreTests(TestCase):
    def test_more(self):
        self.assertEqual(1, 1)
`,
}
