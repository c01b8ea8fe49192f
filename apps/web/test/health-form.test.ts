import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkOf, healthChange, healthFormOf } from '../src/lib/health-form.ts'

const check = { path: '/up', timeoutSeconds: 30, status: '200-299', failures: 5 }

test('a form that nobody touched changes nothing', () => {
  assert.equal(healthChange(healthFormOf(null), null), undefined)
  assert.equal(healthChange(healthFormOf(check), check), undefined)
})

test('an empty field is the default again, and switching it off removes the check', () => {
  const form = { ...healthFormOf(check), status: ' ', interval: '20' }
  const sent = { path: '/up', timeoutSeconds: 30, status: null, intervalSeconds: 20, failures: 5 }
  assert.deepEqual(healthChange(form, check), sent)
  assert.deepEqual(checkOf(form), sent)
  assert.equal(healthChange({ ...form, on: false }, check), null)
  assert.equal(healthChange({ ...healthFormOf(null), on: true }, null)?.path, '/')
})
