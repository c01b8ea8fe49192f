import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createSourceMemory } from '../src/projects/source-memory.ts'

async function memoryOf(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-memory-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  return { home, memory: createSourceMemory(home) }
}

test('what was read of a source is there after a restart, for the service alone', async (t) => {
  const { home, memory } = await memoryOf(t)
  const files = { 'package.json': '{"name":"shop"}', 'yarn.lock': true } as const
  await memory.remember('prj_1', ['package.json', 'yarn.lock', 'bun.lock'], files)
  const again = createSourceMemory(home)
  assert.deepEqual(await again.recall('prj_1', ['yarn.lock', 'package.json', 'bun.lock']), files)
  assert.deepEqual(await again.recall('prj_1', ['package.json']), { 'package.json': '{"name":"shop"}' })
  assert.equal((await stat(join(home, 'sources'))).mode & 0o777, 0o700)
  assert.equal((await stat(join(home, 'sources', 'prj_1.json'))).mode & 0o777, 0o600)
})

test('names that were not asked for then, a note that was cut off and a project that is gone are read anew', async (t) => {
  const { home, memory } = await memoryOf(t)
  await memory.remember('prj_1', ['package.json'], {})
  assert.equal(await memory.recall('prj_1', ['package.json', 'Gemfile']), null)
  await writeFile(join(home, 'sources', 'prj_1.json'), '{"names":["package.json"],"fil')
  assert.equal(await memory.recall('prj_1', ['package.json']), null)
  await memory.remember('prj_2', ['go.mod'], { 'go.mod': 'module x' })
  await memory.forget('prj_2')
  assert.equal(await memory.recall('prj_2', ['go.mod']), null)
  assert.deepEqual(await readdir(join(home, 'sources')), ['prj_1.json'])
})

test('a folder that cannot be written keeps nothing from being read', async (t) => {
  const { home, memory } = await memoryOf(t)
  await writeFile(join(home, 'sources'), 'in the way')
  await memory.remember('prj_1', ['go.mod'], {})
  assert.equal(await memory.recall('prj_1', ['go.mod']), null)
})
