import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '@stackquay/contract'
import { en } from '../src/texts/en.ts'

test('every action that an operation writes into the audit log has words, and stands in a group', () => {
  const declared = Object.values(operations).flatMap((operation) => ('audit' in operation ? [operation.audit] : []))
  assert.ok(declared.length > 20)
  assert.deepEqual(
    declared.filter((action) => en.activity.actions[action] === undefined),
    [],
  )
  const prefixes = Object.keys(en.activity.actionGroups)
  assert.deepEqual(
    Object.keys(en.activity.actions).filter((action) => !prefixes.includes(action.split('.')[0]!)),
    [],
  )
})
