import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engineNames } from '@stackquay/contract'
import { abilitiesOf, isEngine } from '../src/lib/engines.ts'
import { en } from '../src/texts/en.ts'

test('every engine that a project can name has words', () => {
  for (const engine of engineNames) {
    assert.ok(isEngine(engine), engine)
    assert.notEqual(en.engines.names[engine], undefined, engine)
    assert.notEqual(en.engines.about[engine], undefined, engine)
  }
})

test('images are offered where workloads run in containers, and on no engine that is not known', () => {
  assert.deepEqual(abilitiesOf('docker'), { images: true })
  assert.deepEqual(abilitiesOf('native'), { images: false })
  assert.deepEqual(abilitiesOf('constructor'), { images: false })
  assert.equal(isEngine('constructor'), false)
})
