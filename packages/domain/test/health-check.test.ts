import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FieldError } from '@stackquay/contract'
import { healthCheckOfFile, isExpectedStatus, mergeHealthCheck, statusRanges, statusText } from '../src/index.ts'

const merged = (before: Parameters<typeof mergeHealthCheck>[0], patch: Parameters<typeof mergeHealthCheck>[1]) => {
  const errors: FieldError[] = []
  return { check: mergeHealthCheck(before, patch, errors), faults: errors.map(({ pointer }) => pointer) }
}

test('statuses are codes and ranges, the lower first', () => {
  assert.deepEqual(statusRanges('200'), [[200, 200]])
  assert.deepEqual(statusRanges(' 200 - 299,304 '), [
    [200, 299],
    [304, 304],
  ])
  for (const wrong of ['', '20', '2000', '299-200', '099', '600', '200-', '200,,300', '200;300', '-200', '２００'])
    assert.equal(statusRanges(wrong), null, wrong)
  assert.equal(statusText(statusRanges('200-200,418')!), '200, 418')
  assert.ok(isExpectedStatus(304, statusRanges('200-299, 304')!))
  assert.ok(!isExpectedStatus(303, statusRanges('200-299, 304')!))
})

test('what is as by default is not kept, and null is the default again', () => {
  const plain = { path: '/up', timeoutSeconds: 60 }
  assert.deepEqual(merged(null, { path: '/up' }).check, plain)
  assert.deepEqual(merged(null, { path: '/up', status: '200-399', intervalSeconds: 15, failures: 3 }).check, plain)
  const set = merged(plain, { status: 204, intervalSeconds: 30, failures: 1 }).check
  assert.deepEqual(set, { ...plain, status: '204', intervalSeconds: 30, failures: 1 })
  assert.deepEqual(merged(set, { timeoutSeconds: 9 }).check, { ...set, timeoutSeconds: 9 })
  assert.deepEqual(merged(set, { status: null, intervalSeconds: null, failures: null }).check, plain)
})

test('all wrong fields are named, and nothing is changed', () => {
  const { check, faults } = merged(null, { status: '300-200' })
  assert.deepEqual([check, faults], [null, ['/healthCheck/path', '/healthCheck/status']])
})

test('a project file takes back what it does not name, and names nothing that was not there', () => {
  const before = { path: '/up', timeoutSeconds: 60, status: '204', failures: 1 }
  assert.deepEqual(healthCheckOfFile({ path: '/' }, before), { path: '/', status: null, failures: null })
  assert.deepEqual(healthCheckOfFile({ path: '/', failures: 2 }, before), { path: '/', status: null, failures: 2 })
})
