import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { encodeEntry } from '@stackquay/engine-api/tar-blocks'
import { createUserFiles } from '@stackquay/engines'
import type { ProjectRow } from '@stackquay/store'
import type { OperationDeps } from '../src/operations/operation-deps.ts'
import { absentFolders, asideOf, swapFolder, tidySwaps, undoSwap } from '../src/operations/pull-files.ts'

const path = 'storage/app'
const stamp = 'before-pull-20260101-1000'
const context = { signal: new AbortController().signal, output: () => undefined }

async function source(t: TestContext) {
  const root = await mkdtemp(join(tmpdir(), 'stackquay-pull-'))
  const files = createUserFiles()
  t.after(async () => {
    await files.close()
    await rm(root, { recursive: true, force: true })
  })
  await mkdir(join(root, path), { recursive: true })
  await writeFile(join(root, path, 'mine'), 'mine')
  const deps = { filesOf: async () => files.of(null), provision: async () => null } as unknown as OperationDeps
  const row = { id: 'prj_1', path: root } as ProjectRow
  const swap = { operation: 'op_1', stamp, absent: [] as readonly string[] }
  const swapIt = (how = swap) => swapFolder(row, path, how, archive(), context, deps)
  return {
    ...{ root, row, deps, swap, swapIt },
    undo: (how = swap) => undoSwap(row, path, how, deps),
    tidy: () => tidySwaps(row, swap, deps),
    names: () => readdir(join(root, path)),
  }
}

async function* archive(): AsyncGenerator<Buffer> {
  const modified = Buffer.from('00000000000\0')
  const entry = { name: './theirs', link: '', mode: 0o644, uid: 0, gid: 0, size: 6, modified, kind: 'file' as const }
  yield Buffer.concat([
    encodeEntry({ ...entry, sparse: null }),
    Buffer.from('theirs'.padEnd(512, '\0')),
    Buffer.alloc(1024),
  ])
}

test('what was there lies aside, and goes back', async (t) => {
  const { root, swapIt, undo, tidy, names } = await source(t)
  await swapIt()
  assert.deepEqual(await names(), ['theirs'])
  assert.equal(await readFile(join(root, asideOf(stamp, path), 'mine'), 'utf8'), 'mine')
  await undo()
  await tidy()
  assert.deepEqual(await names(), ['mine'])
  assert.deepEqual((await readdir(join(root, '.stackquay'))).sort(), ['.gitignore', 'before-pull'])
})

test('cut off between the two renames, it goes on or back; done twice it is the same as once', async (t) => {
  const { root, row, deps, swapIt, undo, names } = await source(t)
  const files = await deps.filesOf(row)
  const cutOff = async () => {
    await files.makeFolder({ root, path: asideOf(stamp, 'storage') })
    await files.move({ root, from: path, to: asideOf(stamp, path) })
  }
  await cutOff()
  await undo()
  assert.deepEqual(await names(), ['mine'])
  await cutOff()
  await swapIt()
  assert.deepEqual(await names(), ['theirs'])
  await swapIt()
  assert.deepEqual(await names(), ['theirs'])
  await undo()
  await undo()
  assert.deepEqual(await names(), ['mine'])
})

test('a folder that was not there is gone after an undo', async (t) => {
  const { root, row, deps, swap, swapIt, undo } = await source(t)
  await rm(join(root, 'storage'), { recursive: true })
  assert.deepEqual(await absentFolders(row, [path], deps), [path])
  const how = { ...swap, absent: [path] }
  await swapIt(how)
  await swapIt(how)
  assert.equal(await readFile(join(root, path, 'theirs'), 'utf8'), 'theirs')
  await undo(how)
  await assert.rejects(readdir(join(root, path)), { code: 'ENOENT' })
})

test('links on the way lead nowhere, and the newest three stay', async (t) => {
  const { root, row, deps, swapIt, tidy } = await source(t)
  const outside = await mkdtemp(join(tmpdir(), 'stackquay-outside-'))
  t.after(() => rm(outside, { recursive: true, force: true }))
  await mkdir(join(outside, 'app'))
  await rm(join(root, 'storage'), { recursive: true })
  await symlink(outside, join(root, 'storage'))
  await assert.rejects(swapIt())
  assert.deepEqual(await readdir(outside), ['app'])
  await rm(join(root, 'storage'))
  await symlink(outside, join(root, 'link'))
  await assert.rejects(absentFolders(row, ['link'], deps), /is no folder/)
  for (const day of [1, 2, 3, 4, 5])
    await mkdir(join(root, '.stackquay', 'before-pull', `before-pull-2026010${day}-1000`), { recursive: true })
  await tidy()
  assert.deepEqual((await readdir(join(root, '.stackquay', 'before-pull'))).sort(), [
    'before-pull-20260103-1000',
    'before-pull-20260104-1000',
    'before-pull-20260105-1000',
  ])
})
