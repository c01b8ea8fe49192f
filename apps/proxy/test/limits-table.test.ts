import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { defaultLimits } from '../src/limits.ts'

test('docs/proxy.md lists every limit as it is', async () => {
  const text = await readFile(join(import.meta.dirname, '../../../docs/proxy.md'), 'utf8')
  const rows = [...text.matchAll(/^\| `(\w+)` +\| +(\d+) \|/gm)].map(([, name, value]) => [name, Number(value)])
  assert.deepEqual(Object.fromEntries(rows), { ...defaultLimits })
})
