import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, relative, resolve, sep } from 'node:path'
import { test } from 'node:test'
import { programFile, programNames, programPackages } from '../src/folders.ts'

/** Alone in its folder: what it imports from elsewhere is not there where workloads run it. */
test('a built-in program imports nothing but what is copied with it', () => {
  let looked = 0
  const outside = programNames.flatMap((name) => {
    const entry = programFile(name)
    const folder = dirname(entry)
    const files = new Set([entry])
    const strange: string[] = []
    for (const file of files)
      for (const from of importsOf(readFileSync(file, 'utf8'))) {
        const path = resolve(dirname(file), from)
        if (from.startsWith('.') && path.startsWith(folder + sep)) files.add(path)
        else if (!from.startsWith('node:') && !programPackages(name).includes(from))
          strange.push(`${name}: ${relative(folder, file)} imports ${from}`)
      }
    looked += files.size
    return strange
  })
  assert.ok(looked > 50)
  assert.deepEqual(outside, [])
})

/** Types are gone where it runs. */
function importsOf(text: string): readonly string[] {
  const statements = text.matchAll(
    /^(?:import|export)\s+(?:(?:\{[^}]*\}|\*(?:\s+as\s+\w+)?|\w+(?:,\s*\{[^}]*\})?)\s+from\s+)?'([^'\n]+)'/gm,
  )
  const dynamic = text.matchAll(/\bimport\('([^'\n]+)'\)/g)
  return [...statements, ...dynamic].map(([, from]) => from!)
}
