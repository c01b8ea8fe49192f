import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatedFiles } from '../reference.ts'
import { read } from '../repository.ts'

for (const [path, text] of Object.entries(generatedFiles())) {
  test(`${path} is what the sources say`, () => {
    let committed = ''
    try {
      committed = read(path)
    } catch {
      // Missing is stale too.
    }
    assert.ok(committed === text, `${path} is stale: run "npm run check -- --fix" and read the difference`)
  })
}
