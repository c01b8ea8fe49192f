import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addErrors, type CountedError, errorPattern, searchOf, stepsOver, topErrors } from '../src/index.ts'

const at = (text: string) => Date.parse(text)

test('at most sixty steps cover any time, and the first begins at a whole step', () => {
  const until = at('2026-03-04T12:34:56.789Z')
  const known: readonly (readonly [string, number, number])[] = [
    ['2026-03-04T12:34:56.789Z', 1, 1],
    ['2026-03-04T12:34:00Z', 1, 57],
    ['2026-03-04T11:34:57Z', 300, 13],
    ['2026-03-03T12:34:56Z', 1800, 49],
    ['2026-02-04T12:34:56Z', 43_200, 57],
    ['2025-02-04T12:34:56Z', 604_800, 57],
  ]
  for (const [since, stepSeconds, steps] of known) {
    const range = stepsOver(at(since), until)
    assert.deepEqual([range.stepSeconds, range.steps], [stepSeconds, steps], since)
    assert.equal(range.from % (stepSeconds * 1000), 0)
    assert.ok(range.from <= at(since) && range.from + steps * stepSeconds * 1000 > until, since)
  }
})

test('errors that differ in numbers, ids and times alone have one pattern', () => {
  const same: readonly (readonly [string, string])[] = [
    ['Error: order 17 took 1.5 s', 'Error: order <n> took <n> s'],
    ['2026-03-04T12:00:00.123Z ERROR no route', '<time> ERROR no route'],
    ['2026-03-04 12:00:00,123 - app - ERROR - slow', '<time> - app - ERROR - slow'],
    ['ERROR user 6f1c6f5e-52ab-4f0e-9d05-0e1d5f5d0a11 gone', 'ERROR user <id> gone'],
    ['ERROR prj_01kq3z8v5mexample is away', 'ERROR <id> is away'],
    ['ERROR commit 9c1f0e6f5b0c4a54d1b6a7f6f2a1c0d9e8b7a655', 'ERROR commit <id>'],
    ['ERROR connect ECONNREFUSED 127.0.0.1:5432', 'ERROR connect ECONNREFUSED <n>:<n>'],
    ['\u001b[31mERROR\u001b[39m  two   blanks', 'ERROR two blanks'],
    ['TypeError: defaced effaced', 'TypeError: defaced effaced'],
  ]
  for (const [text, pattern] of same) assert.equal(errorPattern(text), pattern)
})

test('the text to search for stands in every line of a pattern', () => {
  assert.equal(searchOf('<time> ERROR no order <n> of <id>'), 'ERROR no order')
  assert.equal(searchOf('<n>'), '')
})

test('whatever a program prints, its pattern takes no time', () => {
  const began = performance.now()
  for (const text of [
    '1'.repeat(1e6),
    'a_'.repeat(5e5),
    '0x'.repeat(5e5),
    '2026-03-04T'.repeat(1e5),
    '\u001b['.repeat(5e5),
  ])
    for (let turn = 0; turn < 200; turn++) errorPattern(text)
  assert.ok(performance.now() - began < 2000, `${performance.now() - began} ms`)
})

const counted = (pattern: string, count: number, lastAt: number): CountedError => ({
  ...{ pattern, count, lastAt, firstAt: lastAt - 10, text: `${pattern} ${lastAt}`, workload: 'web' },
})

test('counts of the same pattern add up, and the newest line is shown', () => {
  const both = addErrors(new Map([['a', counted('a', 2, 100)]]), [counted('a', 3, 50), counted('b', 5, 70)])
  assert.deepEqual(topErrors(both, 5), [{ ...counted('a', 5, 100), firstAt: 40 }, counted('b', 5, 70)])
  assert.equal(topErrors(both, 1).length, 1)
})

test('a program that prints thousands of different errors does not hide the frequent one', () => {
  let known: ReadonlyMap<string, CountedError> = new Map([['often', counted('often', 9, 1)]])
  for (let part = 0; part < 5; part++)
    known = addErrors(
      known,
      Array.from({ length: 900 }, (_, one) => counted(`${part}-${one}`, 1, 5)),
    )
  assert.ok(known.size <= 1900)
  assert.equal(topErrors(known, 1)[0]?.pattern, 'often')
})
