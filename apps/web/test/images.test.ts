import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortBuild } from '../src/lib/images.ts'

test('a build is called by the first digits of its digest, or of its id where the registry gave none', () => {
  const id = 'sha256:0123456789abcdef0123'
  assert.equal(shortBuild({ id, digest: 'sha256:fedcba9876543210fedc' }), 'fedcba987654')
  assert.equal(shortBuild({ id, digest: null }), '0123456789ab')
})
