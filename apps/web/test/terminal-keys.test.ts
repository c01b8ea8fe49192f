import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOfKey, keyMeaning, withControl } from '../src/lib/terminal-keys.ts'

const press = (key: string, more: Partial<Parameters<typeof keyMeaning>[0]> = {}) => ({
  type: 'keydown',
  key,
  ctrlKey: true,
  shiftKey: false,
  altKey: false,
  metaKey: false,
  ...more,
})

test('arrows follow the mode of the program', () => {
  assert.equal(bytesOfKey('up', false), '\u001b[A')
  assert.equal(bytesOfKey('up', true), '\u001bOA')
  assert.equal(bytesOfKey('escape', true), '\u001b')
  assert.equal(bytesOfKey('tab', false), '\t')
})

test('Ctrl turns letters and brackets into control characters and leaves the rest', () => {
  assert.equal(withControl('c'), '\u0003')
  assert.equal(withControl('D'), '\u0004')
  assert.equal(withControl('['), '\u001b')
  assert.equal(withControl(' '), '\u0000')
  assert.equal(withControl('é'), 'é')
  assert.equal(withControl('1'), '1')
  assert.equal(withControl(''), '')
})

test('Ctrl-C interrupts unless something is selected, and there is always a way out', () => {
  assert.equal(keyMeaning(press('c'), false), 'terminal')
  assert.equal(keyMeaning(press('c'), true), 'copy')
  assert.equal(keyMeaning(press('C', { shiftKey: true }), false), 'copy')
  assert.equal(keyMeaning(press('v'), false), 'paste')
  assert.equal(keyMeaning(press('F6'), false), 'leave')
  assert.equal(keyMeaning(press('k'), false), 'terminal')
  assert.equal(keyMeaning(press('c', { ctrlKey: false }), true), 'terminal')
})
