import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Toolchain } from '@stackquay/engine-api'
import {
  chooseToolchain,
  compareVersions,
  linesOfFound,
  linesOfReleases,
  whyNone,
} from '../src/catalogue/version-lines.ts'

const lineOf = (version: string) => version.split('.')[0]!
const type = {
  label: 'Tool',
  releases: [
    { version: '3', endOfLife: '2030-01-01' },
    { version: '2', endOfLife: null },
  ],
  lineOf,
}
const tool = (version: string, more: Partial<Toolchain> = {}): Toolchain => ({
  name: 'tool',
  version,
  program: `/opt/${version}/tool`,
  directory: `/opt/${version}`,
  bundled: false,
  available: true,
  reason: null,
  ...more,
})

test('lines are those of the releases and those that were found, newest first; the newest that can be used is the default', () => {
  const lines = linesOfFound(type, [tool('2.9.0'), tool('2.10.0'), tool('1.5.0')])
  assert.deepEqual(
    lines.map(({ version, full, available, default: isDefault }) => [version, full, available, isDefault]),
    [
      ['3', null, false, false],
      ['2', '2.10.0', true, true],
      ['1', '1.5.0', true, false],
    ],
  )
  assert.equal(lines[0]!.reason, 'Tool 3 is not installed on this machine.')
  assert.equal(lines[0]!.endOfLife, '2030-01-01')
})

test('what can be used stands for its line, before a newer one that cannot', () => {
  const broken = tool('2.11.0', { available: false, reason: 'It does not start.' })
  for (const found of [
    [tool('2.9.0'), broken],
    [broken, tool('2.9.0')],
  ])
    assert.equal(linesOfFound(type, found).find(({ version }) => version === '2')?.full, '2.9.0')
  assert.equal(whyNone(type, linesOfFound(type, [broken])), 'It does not start.')
  assert.equal(whyNone(type, linesOfFound(type, [])), 'No Tool was found on this machine.')
})

test('an engine of images has every release, the first of which is the default', () => {
  assert.deepEqual(
    linesOfReleases(type).map(({ version, available, default: isDefault }) => [version, available, isDefault]),
    [
      ['3', true, true],
      ['2', true, false],
    ],
  )
})

test('a program that came along is chosen before one of the machine, and the newest of its line', () => {
  const found = [tool('2.9.0'), tool('2.10.0'), tool('3.0.0', { available: false }), tool('2.1.0', { bundled: true })]
  assert.equal(chooseToolchain(found, 'tool', '2', lineOf)?.version, '2.1.0')
  assert.equal(chooseToolchain(found.slice(0, 3), 'tool', '2', lineOf)?.version, '2.10.0')
  assert.equal(chooseToolchain(found.slice(0, 3), 'tool', null, lineOf)?.version, '2.10.0')
  assert.equal(chooseToolchain(found, 'tool', '3', lineOf), null)
  assert.equal(chooseToolchain(found, 'other', null, lineOf), null)
})

test('versions are compared number by number', () => {
  assert.deepEqual(['1.10', '2.0', '1.9', '1.9.1'].sort(compareVersions), ['1.9', '1.9.1', '1.10', '2.0'])
})
