import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { ResultFormat } from '@stackquay/catalog'
import {
  mostCases,
  readTestResults,
  sameTest,
  type TestResults,
  UnreadableResults,
} from '../src/results/test-results.ts'

/** What runners really wrote; paths are made short. Kept as plain text, so that nobody formats them. */
const recorded: Readonly<Record<string, ResultFormat>> = {
  'node-test.jsonl': 'cases',
  'unittest.jsonl': 'cases',
  'django.jsonl': 'cases',
  'minitest.jsonl': 'cases',
  'pytest.xml': 'junit',
  'pytest-broken.xml': 'junit',
  'phpunit.xml': 'junit',
  'jest.json': 'jest-json',
  'vitest.json': 'jest-json',
  'playwright.json': 'playwright-json',
  'rspec.json': 'rspec-json',
  'rspec-broken.json': 'rspec-json',
  'go-test.json': 'go-test-json',
  'cargo-test.txt': 'cargo-test',
  'cargo-test-1.65.txt': 'cargo-test',
  'cargo-broken.txt': 'cargo-test',
}

function textOf(name: string): string {
  const file = name.endsWith('.txt') ? name : `${name}.txt`
  return readFileSync(fileURLToPath(new URL(`./fixtures/results/${file}`, import.meta.url)), 'utf8')
}

function read(name: string): TestResults {
  return readTestResults(recorded[name]!, textOf(name))
}

/** `passed/failed/skipped`, and what failed with its place. */
function summary({ cases, incomplete }: TestResults) {
  const count = (outcome: string) => cases.filter((one) => one.outcome === outcome).length
  return {
    counts: `${count('passed')}/${count('failed')}/${count('skipped')}`,
    failed: cases
      .filter((one) => one.outcome === 'failed')
      .map((one) => `${one.group ?? ''} | ${one.name} | ${one.file}:${one.line}`),
    incomplete,
  }
}

describe('Results that runners wrote', () => {
  const expected: Readonly<Record<string, { counts: string; failed: readonly string[] }>> = {
    'node-test.jsonl': {
      counts: '4/2/2',
      failed: [
        ' | test/broken.test.js | /project/test/broken.test.js:1',
        'A cart | counts what it has | /project/test/cart.test.js:9',
      ],
    },
    'unittest.jsonl': {
      counts: '2/4/1',
      failed: [
        ' | tests.test_broken | /project/tests/test_broken.py:1',
        'tests.test_cart.CartTest | test_counts | /project/tests/test_cart.py:9',
        'tests.test_cart.CartTest | test_parts | /project/tests/test_cart.py:14',
        ' | setUpClass (tests.test_cart.WithoutFloor) | /project/tests/test_cart.py:28',
      ],
    },
    'django.jsonl': {
      counts: '2/1/0',
      failed: [
        'polls.tests.QuestionModelTests | test_was_published_recently_with_future_question | /project/polls/tests.py:17',
      ],
    },
    'minitest.jsonl': {
      counts: '1/2/1',
      failed: [
        'CartTest | test_counts | /project/test/cart_test.rb:9',
        'CartTest | test_raises | /project/test/cart_test.rb:17',
      ],
    },
    'pytest.xml': {
      counts: '2/2/2',
      failed: [
        'tests.test_cart.TestCart | test_one[items1] | tests/test_cart.py:12',
        'tests.test_cart | test_basket | tests/test_cart.py:17',
      ],
    },
    'pytest-broken.xml': { counts: '0/1/0', failed: [' | tests.test_broken | tests/test_broken.py:1'] },
    'phpunit.xml': {
      counts: '2/2/1',
      failed: [
        'CartTest | testCounts with data set #1 | /project/tests/CartTest.php:14',
        'CartTest | testRaises | /project/tests/CartTest.php:29',
      ],
    },
    'jest.json': {
      counts: '2/2/2',
      failed: ['a wrong sum | of 2 | /project/sum.test.js:9', ' | broken.test.js | /project/broken.test.js:1'],
    },
    'vitest.json': {
      counts: '1/1/1',
      failed: ['HelloWorld | says something else | /project/src/components/__tests__/Wrong.spec.ts:8'],
    },
    'playwright.json': {
      counts: '2/1/1',
      failed: ['[one] > A cart | counts what it has | /project/e2e/cart.spec.js:7'],
    },
    'rspec.json': { counts: '1/1/1', failed: ['Cart with items | counts them | ./spec/cart_spec.rb:10'] },
    'rspec-broken.json': { counts: '0/1/0', failed: [' | broken_spec.rb | ./spec/broken_spec.rb:1'] },
    'go-test.json': {
      counts: '1/4/1',
      failed: [
        'example.org/shop/broken | example.org/shop/broken | broken/broken_test.go:6',
        'example.org/shop/cart | TestTotal/two_parts | /project/cart/cart_test.go:9',
        'example.org/shop/cart | TestTotal | null:null',
        'example.org/shop/panics | TestPanics | /project/panics/panics_test.go:7',
      ],
    },
    'cargo-test.txt': { counts: '4/1/1', failed: ['unittests src/lib.rs | tests::counts | src/lib.rs:21'] },
    'cargo-test-1.65.txt': { counts: '4/1/1', failed: ['unittests src/lib.rs | tests::counts | src/lib.rs:21'] },
    'cargo-broken.txt': { counts: '0/1/0', failed: [' | cargo build | src/lib.rs:1'] },
  }

  for (const [name, want] of Object.entries(expected)) {
    test(`of ${name} have its counts, and the failed tests with file and line`, () => {
      assert.deepEqual(summary(read(name)), { ...want, incomplete: false })
    })

    test(`of ${name} are the same with Windows line ends and a byte order mark`, () => {
      const text = `\uFEFF${textOf(name).replaceAll('\n', '\r\n')}`
      assert.deepEqual(summary(readTestResults(recorded[name]!, text)), { ...want, incomplete: false })
    })
  }

  test('say what was wrong, without colours', () => {
    const messages = Object.keys(recorded).flatMap((name) =>
      read(name).cases.flatMap((one) => (one.outcome === 'failed' ? [one.message ?? `nothing in ${name}`] : [])),
    )
    for (const message of messages) assert.doesNotMatch(message, /\u001b|\r|^nothing in/)
    const said = messages.join('\n')
    for (const part of [
      "Cannot find package 'this-package-is-not-there'",
      '2 !== 3',
      'AssertionError: 2 != 3',
      'ModuleNotFoundError: No module named',
      'failed on setup with "RuntimeError: no basket"',
      'Failed asserting that actual size 2 matches expected size 1.',
      "Cannot find module './not-there'",
      'to contain',
      'LoadError: cannot load such file',
      'got 2 <parts>\nwanted 3',
      'panic: assignment to entry in nil map',
      'counted <wrong>',
      'error[E0425]: cannot find value `nothing` in this scope',
    ]) {
      assert.ok(said.includes(part), part)
    }
  })
})

describe('Reading results', () => {
  test('refuses what is nothing of the kind, and an empty file', () => {
    for (const format of new Set(Object.values(recorded))) {
      for (const text of ['', ' \n', 'hello', '{}', '[]', 'null', '<html></html>', '{"a":']) {
        assert.throws(() => readTestResults(format, text), UnreadableResults, `${format}: ${text}`)
      }
    }
  })

  test('answers what stood complete in a file that was cut, and says that it was', () => {
    for (const name of ['jest.json', 'rspec.json', 'phpunit.xml', 'pytest.xml', 'minitest.jsonl']) {
      const whole = read(name)
      const text = textOf(name)
      const cut = readTestResults(recorded[name]!, text.slice(0, Math.floor(text.length * 0.85)))
      assert.equal(cut.incomplete, true, name)
      assert.ok(cut.cases.length < whole.cases.length + 1, name)
      for (const one of cut.cases)
        assert.ok(
          whole.cases.some((other) => sameTest(one, other)),
          `${name}: ${one.name}`,
        )
    }
  })

  test('never gives up otherwise than by saying so, whatever the text is', () => {
    // Repeatable chance: a failure can be found again.
    let state = 12_345
    const below = (limit: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return Math.floor((state / 2 ** 32) * limit)
    }
    const spices = [
      '"',
      '{',
      '}',
      '[',
      ']',
      ',',
      '<',
      '>',
      '&#0;',
      '</testcase>',
      '\0',
      '\\',
      '\ud800',
      'null',
      '1e999',
      '',
    ]
    for (const [name, format] of Object.entries(recorded)) {
      const text = textOf(name)
      for (let round = 0; round < 150; round++) {
        let changed = round % 3 === 0 ? text.slice(below(text.length)) : text.slice(0, below(text.length) + 1)
        if (round % 2 === 0) changed = text
        for (let bite = below(6); bite >= 0; bite--) {
          const at = below(changed.length)
          changed = changed.slice(0, at) + spices[below(spices.length)]! + changed.slice(at + below(30))
        }
        try {
          const { cases } = readTestResults(format, changed)
          for (const one of cases) assert.ok(one.name !== '' && ['passed', 'failed', 'skipped'].includes(one.outcome))
        } catch (error) {
          assert.ok(error instanceof UnreadableResults, `${name}, round ${round}: ${String(error)}`)
        }
      }
    }
  })

  test('keeps a bounded number of cases, each of bounded size', () => {
    const huge = `${'é\u001b[31m'.repeat(20_000)} the end`
    const line = JSON.stringify({ name: huge, outcome: 'failed', message: huge, details: huge })
    const one = readTestResults('cases', `{"results":"stackquay"}\n${line}\n{"end":true}\n`).cases[0]!
    assert.ok(Buffer.byteLength(one.message!) <= 4096 && Buffer.byteLength(one.details!) <= 16_384)
    assert.ok(Buffer.byteLength(one.name) <= 1000)
    assert.match(one.details!, /the end$/)
    assert.doesNotMatch(one.details!, /\u001b/)

    const many = `{"results":"stackquay"}\n${'{"name":"a","outcome":"passed"}\n'.repeat(mostCases + 5)}{"end":true}\n`
    const results = readTestResults('cases', many)
    assert.equal(results.cases.length, mostCases)
    assert.equal(results.incomplete, true)
  })

  test('takes neither entities nor depth of a hostile XML file', () => {
    const bomb = `<!DOCTYPE a [<!ENTITY b "${'x'.repeat(1000)}"><!ENTITY c SYSTEM "file:///etc/passwd">]>
      <testsuites><testsuite><testcase name="a"><failure message="&b;&c;">&b;</failure></testcase></testsuite></testsuites>`
    const [one] = readTestResults('junit', bomb).cases
    assert.equal(one?.outcome, 'failed')
    assert.equal(one.message, '&b;&c;')
    const deep = `<testsuites><testsuite>${'<a>'.repeat(200_000)}${'</b>'.repeat(200_000)}`
    assert.equal(readTestResults('junit', deep).incomplete, true)
    const nested = '[{"a":'.repeat(200_000)
    assert.throws(() => readTestResults('jest-json', nested), UnreadableResults)
  })

  test('takes texts that are made to be slow', () => {
    const size = 200_000
    const slow = [
      'a',
      ' ',
      '\n',
      ':1',
      'File "',
      ' ... ',
      'E   ',
      '\n\n ',
      'panicked at ',
      "panicked at '",
      'ok, ',
      '\t\n',
    ]
    const started = performance.now()
    for (const part of slow) {
      const text = part.repeat(size / part.length)
      const message = JSON.stringify(text)
      const tests = `[{"title":${message},"status":"failed","failureMessages":[${message}]}]`
      readTestResults('jest-json', `{"testResults":[{"name":"a.js","assertionResults":${tests}}]}`)
      readTestResults(
        'junit',
        `<testsuite><testcase name="a" file="a.py"><failure>${text}</failure></testcase></testsuite>`,
      )
      readTestResults(
        'go-test-json',
        `{"Action":"output","Package":"a","Test":"T","Output":${message}}\n{"Action":"fail","Package":"a","Test":"T"}`,
      )
      readTestResults(
        'cargo-test',
        `running 1 test\ntest ${text} ... FAILED\n---- a stdout ----\n${text}\ntest a ... FAILED\n`,
      )
      readTestResults(
        'rspec-json',
        `{"examples":[],"messages":[${JSON.stringify(`An error occurred ${text}`)}],"summary":{"errors_outside_of_examples_count":1}}`,
      )
    }
    // Squared, it would take many minutes.
    assert.ok(performance.now() - started < 60_000)
  })

  test('knows a test again whose file is said only when it fails', () => {
    const test = { name: 'TestSplit', group: 'example.org/shop', file: null }
    assert.equal(sameTest(test, { ...test, file: 'split_test.go' }), true)
    assert.equal(sameTest({ ...test, file: 'a.js' }, { ...test, file: 'b.js' }), false)
    assert.equal(sameTest(test, { ...test, group: null }), false)
  })

  test('counts a test that was running when everything ended as none, and says so', () => {
    const lines = textOf('go-test.json').split('\n')
    const until = lines.findIndex((line) => line.includes('"Action":"run"') && line.includes('TestPanics'))
    const results = readTestResults('go-test-json', lines.slice(0, until + 1).join('\n'))
    assert.equal(results.incomplete, true)
    assert.ok(!results.cases.some((one) => one.name === 'TestPanics'))
  })
})
