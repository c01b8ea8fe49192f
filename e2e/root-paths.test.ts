import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import {
  type Account,
  copyBetween,
  createUserFiles,
  FilesError,
  makeGivenFolder,
  removeGivenFolder,
  sizeAsUser,
} from '@stackquay/engines'
import { rounds } from '@stackquay/testkit/rounds'
import { readManifest } from '../apps/server/src/projects/manifest-file.ts'
import { createNewFolders } from '../apps/server/src/projects/new-folder.ts'
import { createResultsFolders } from '../apps/server/src/runs/results-folder.ts'
import { sourceIdOf } from '../apps/server/src/runs/source-id.ts'
import { race } from './support/racers.ts'

const uid = 60_201
const execute = promisify(execFile)
const isRoot = process.getuid?.() === 0
/** Also as the user of the service: there a link may lead to what it could read, and is still not followed. */
const users: readonly (Account | null)[] = isRoot ? [{ uid, gid: uid }, null] : [null]

for (const account of users) {
  describe(`a project that swaps its folders for links, used ${account === null ? 'in this process' : 'as its user'}`, () => {
    test('nothing outside is read: not one byte of it is in any answer', { timeout: 3_600_000 }, async (t) => {
      const { files, root, outside, unchanged, all } = await place(t, account)
      await using racers = await race(root, outside, uid)
      const paths = ['d/secret', 'p/inner/secret', 'e/secret', 'package.json', 'go.mod', 'd/results.xml', 'results.xml']
      const answers = { inside: 0, refused: 0 }
      const look = async (ask: Promise<unknown>) => {
        const answer = await ask.catch((error: unknown) => {
          assert.ok(error instanceof FilesError, String(error))
          return error
        })
        const text = Buffer.isBuffer(answer)
          ? String(answer)
          : answer instanceof Map
            ? [...answer.values()].join(' ')
            : JSON.stringify(answer)
        assert.ok(!/CANARY|only-outside/.test(text), text)
        if (answer instanceof Error) answers.refused += 1
        else answers.inside += 1
      }
      const before = racers.swaps()
      const tries = rounds(100, 10_000)
      for (let turn = 0; turn < tries; turn += 1) {
        const links = turn % 2 === 0 ? 'inside' : 'none'
        const path = paths[turn % paths.length]!
        // Now and then there is no process that reads, and plain files are read without one.
        if (account !== null && turn % 5 === 0) await all.release(account)
        await look(files.read({ root, path, maxBytes: 1 << 20, links }))
        await look(files.readMany({ root, paths, maxBytesEach: 1 << 20, maxBytes: 8 << 20 }))
        await look(files.list({ root, path: turn % 3 === 0 ? 'd' : 'p/inner', maxEntries: 1000 }))
        await look(readManifest(files, root))
        if (turn % 10 !== 0) continue
        await look(files.walk({ root, maxEntries: 20_000, skip: { names: [], endings: [] } }))
        await look(
          files.statMany({ root, paths: ['d/only-outside', 'p/inner/only-outside'] }).then((found) => {
            assert.deepEqual(found, [null, null])
          }),
        )
        const size = await sizeAsUser(account, root)
        assert.ok(size === null || size < hugeBytes, `the folder is said to hold ${size} bytes`)
        await sourceIdOf(root, AbortSignal.timeout(20_000), { account, files })
      }
      assert.ok(racers.swaps() > before, 'the racers ran all the time')
      assert.ok(answers.inside > 0 && answers.refused > 0, JSON.stringify(answers))
      await unchanged()
    })

    test('nothing outside is made, written or changed', { timeout: 3_600_000 }, async (t) => {
      const { files, root, outside, unchanged } = await place(t, account)
      await using _racers = await race(root, outside, uid)
      for (let turn = 0; turn < rounds(100, 10_000); turn += 1) {
        const bytes = Buffer.from(`turn ${turn}`)
        const tries = [
          files.write({ root, path: `d/new-${turn % 5}`, bytes }),
          files.write({ root, path: 'p/inner/secret', bytes, mode: 0o600 }),
          files.write({ root, path: 'results.xml', bytes }),
          files.write({ root, path: `p/inner/x-${turn}`, bytes, exclusive: true }),
          files.makeFolder({ root, path: `p/inner/folder-${turn % 5}/deep`, mode: 0o700 }),
          files.makeFolder({ root, path: `e/folder-${turn % 5}` }),
        ]
        for (const result of await Promise.allSettled(tries))
          if (result.status === 'rejected') assert.ok(result.reason instanceof FilesError, String(result.reason))
      }
      await unchanged()
    })

    test('nothing outside is deleted, and a copy holds nothing of it', { timeout: 3_600_000 }, async (t) => {
      const { home, root, outside, unchanged, all } = await place(t, account)
      const results = createResultsFolders(home, all)
      const projects = join(home, 'projects')
      await mkdir(projects, { mode: 0o711 })
      const newFolders = createNewFolders(projects)
      let gone = 0
      for (let turn = 0; turn < rounds(5, 300); turn += 1) {
        const run = `run_${turn}`
        const made = { id: `prj_${turn}`, path: join(projects, `shop-${turn}`) }
        await results.make(run, account, { 'helper.mjs': 'export {}' })
        await newFolders.appear(made, account, async () => {})
        const folders = [results.pathOf(run), made.path]
        {
          await using _first = await race(folders[0]!, outside, uid, 1)
          await using _second = await race(folders[1]!, outside, uid, 1)
          await results.read(run, account, 'results.xml').then(
            (text) => assert.ok(!text.includes('CANARY')),
            (error: unknown) => assert.match(String(error), /could not be read/),
          )
          await copyAndCheck(account, made.path, join(home, 'copy'))
          await Promise.allSettled([results.remove(run), newFolders.undo(made)])
          await results.sweep(() => false).catch(() => undefined)
        }
        // What could not be removed while it was being filled goes when nothing fills it any more.
        await results.sweep(() => false)
        await newFolders.sweep(() => false, AbortSignal.timeout(60_000))
        for (const folder of folders) await assert.rejects(lstat(folder), { code: 'ENOENT' })
        gone += 1
      }
      assert.ok(gone > 0)
      await removeGivenFolder(root)
      await unchanged()
    })
  })
}

const hugeBytes = 32 << 20

async function place(t: TestContext, account: Account | null) {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-race-'))
  t.after(() => rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))
  await chmod(home, 0o711)
  const outside = join(home, 'outside')
  await mkdir(join(outside, 'inner'), { recursive: true })
  for (const name of ['secret', 'inner/secret', 'only-outside', 'results.xml', 'package.json', 'stackquay.yml'])
    await writeFile(join(outside, name), 'CANARY')
  await writeFile(join(outside, 'huge'), Buffer.alloc(hugeBytes, 'C'))
  // It belongs to the project's own user: no permission protects it, only that nobody follows the links.
  if (isRoot)
    for (const name of ['', ...(await readdir(outside, { recursive: true }))])
      await chown(join(outside, name), uid, uid)
  const root = join(home, 'project')
  await makeGivenFolder(root, isRoot ? { uid, gid: uid } : null)
  const all = createUserFiles()
  t.after(all.close)
  const before = await stateOf(outside)
  const unchanged = async () => assert.deepEqual(await stateOf(outside), before)
  return { home, root, outside, all, files: all.of(account), unchanged }
}

/** Names, modes, owners, times and contents. */
async function stateOf(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder, { recursive: true })).sort()
  return Promise.all(
    ['.', ...names].map(async (name) => {
      const info = await lstat(join(folder, name))
      const content = info.isFile()
        ? createHash('sha256')
            .update(await readFile(join(folder, name)))
            .digest('hex')
        : ''
      return [name, info.mode, info.uid, info.mtimeMs, content].join(' ')
    }),
  )
}

/** Links are copied as links; no file of the copy has what they lead to. */
async function copyAndCheck(account: Account | null, from: string, to: string): Promise<void> {
  await makeGivenFolder(to, account)
  await copyBetween({ account, path: from }, { account, path: to }, AbortSignal.timeout(60_000)).catch(
    (error: unknown) => assert.ok(error instanceof FilesError, String(error)),
  )
  // grep ends with 1 when it found nothing; with -r it follows no link.
  await assert.rejects(execute('grep', ['-rl', 'CANARY', to]), { code: 1 })
  await removeGivenFolder(to)
}
