import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { apiPrefix as contractPrefix, operationList } from '@stackquay/contract'
import { routesSource } from '../src/generate-routes.ts'
import { apiPrefix, routes } from '../src/routes.ts'

test('the route table has the method and path of every operation of the contract', () => {
  const expected = operationList.map(({ id, method, path }) => [id, `${method} ${path}`])
  const actual = Object.entries(routes).map(([id, { method, path }]) => [id, `${method} ${path}`])
  assert.deepEqual(new Map(actual as [string, string][]), new Map(expected as [string, string][]))
  assert.equal(apiPrefix, contractPrefix)
})

test('the committed route table is what the generator writes now: node packages/client/src/generate-routes.ts', async () => {
  const committed = await readFile(new URL('../src/routes.ts', import.meta.url), 'utf8')
  assert.equal(committed, routesSource())
})

test('nothing a browser loads imports the contract as a value, nor anything of Node', async () => {
  const seen = new Set<string>()
  const visit = async (file: string): Promise<void> => {
    if (seen.has(file)) return
    seen.add(file)
    const source = await readFile(new URL(`../src/${file}`, import.meta.url), 'utf8')
    for (const [statement, from] of source.matchAll(/^(?:import|export) [^;]*?from '([^']+)'/gms)) {
      if (from!.startsWith('./')) await visit(from!.slice(2))
      else assert.match(statement, /^import type /, `${file}: ${statement}`)
    }
  }
  await visit('index.ts')
  assert.ok(seen.has('follow-events.ts') && seen.has('transport.ts'), 'the walk found the parts')
})
