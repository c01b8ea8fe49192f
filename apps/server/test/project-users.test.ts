import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ProblemError } from '@stackquay/contract'
import { type Account, type Accounts, createUserFiles, FilesError, runAsUser } from '@stackquay/engines'
import { problemErrorOf } from '../src/http/problem-answer.ts'
import { createFilesOf } from '../src/projects/files-of.ts'
import { readManifest } from '../src/projects/manifest-file.ts'
import { createSources } from '../src/projects/sources.ts'
import { createGitHomes } from '../src/source/git-home.ts'

const isRoot = process.getuid?.() === 0
const own = process.getuid?.() ?? 0
const signal = AbortSignal.timeout(60_000)

/** A user for each project, as far as this process may have users; made when it is asked for. */
function manyAccounts(): Accounts {
  const made = new Map<string, Account>()
  return {
    of: async (project) => {
      if (!isRoot) return null
      const account = made.get(project) ?? { uid: 60_100 + made.size, gid: 60_100 + made.size }
      made.set(project, account)
      return account
    },
    known: (project) => (isRoot ? made.get(project) : null),
    all: () => [...made].map(([project, account]) => ({ project, account })),
    shared: isRoot ? undefined : null,
  }
}

async function place(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-users-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  const projectsDir = join(home, 'projects')
  for (const path of [home, projectsDir, join(home, 'people')]) {
    await mkdir(path, { recursive: true })
    await chmod(path, 0o711)
  }
  const files = createUserFiles()
  t.after(files.close)
  const accounts = manyAccounts()
  const config = { home: join(home, 'service'), projectsDir, allowedRoots: [join(home, 'people')] }
  const sources = createSources({
    config,
    accounts,
    files,
    gitHalf: { gitHome: createGitHomes(config.home), network: { certificates: {}, registries: {} } },
  })
  const folder = (id: string) => ({ id, path: join(projectsDir, id.replace('prj_', '')) })
  return {
    home,
    files,
    accounts,
    sources,
    folder,
    filesOf: createFilesOf(accounts, files),
    people: join(home, 'people'),
  }
}

test('what a project begins with belongs to its user, and no other user may read it', async (t) => {
  const { sources, accounts, folder, filesOf } = await place(t)
  const [shop, blog, copy] = ['prj_shop', 'prj_blog', 'prj_copy'].map(folder) as [Place, Place, Place]
  await sources.fromTemplate('static', shop, signal)
  await sources.empty(blog)
  await writeFile(join(shop.path, 'node_modules'), '')
  await sources.fromFolder(shop, copy, signal)
  for (const { id, path } of [shop, blog, copy]) {
    const account = await accounts.of(id)
    const info = await lstat(path)
    assert.deepEqual([info.uid, info.mode & 0o777], [account?.uid ?? own, 0o750], id)
    if (id === 'prj_blog') continue
    for (const name of await readdir(path, { recursive: true }))
      if (name !== 'node_modules') assert.equal((await lstat(join(path, name))).uid, account?.uid ?? own, name)
    const listed = await (await filesOf({ id, path })).list({ root: path, path: '.', maxEntries: 100 })
    assert.ok(
      listed.some(({ name }) => name === 'index.html' || name === 'public'),
      JSON.stringify(listed),
    )
  }
  if (!isRoot) return
  const other = await accounts.of('prj_blog')
  assert.notEqual((await runAsUser(other, ['ls', shop.path])).code, 0)
  const asOther = await filesOf({ id: 'prj_blog', path: blog.path })
  await assert.rejects(asOther.read({ root: shop.path, path: 'index.html', maxBytes: 1000 }), FilesError)
})

test('a creation that is undone leaves nothing, and its name is free', async (t) => {
  const { sources, folder } = await place(t)
  const shop = folder('prj_shop')
  await sources.fromTemplate('static', shop, signal)
  await sources.undo(shop)
  await assert.rejects(lstat(shop.path), { code: 'ENOENT' })
  assert.deepEqual(await readdir(join(shop.path, '..')), [])
  await sources.empty(shop)
  await sources.keep(shop)
  await sources.undo(shop)
  assert.ok((await lstat(shop.path)).isDirectory(), 'it is a person’s now')
})

test('a person’s folder is looked at as its owner while the project is only planned, and as its user afterwards', async (t) => {
  const { sources, accounts, people, filesOf } = await place(t)
  const path = join(people, 'app')
  await mkdir(path, { mode: 0o700 })
  await writeFile(join(path, 'stackquay.yml'), 'name: App\n')
  if (isRoot) execFileSync('chown', ['-R', '60090:60090', path])
  const planned = { id: 'prj_app', path }
  assert.equal(await sources.checkFolder(planned), path)
  assert.equal(await readManifest(await filesOf(planned), path), 'name: App\n')
  if (!isRoot) return

  const { uid, gid } = (await accounts.of('prj_app'))!
  await assert.rejects(sources.checkFolder(planned), (error: unknown) => {
    assert.ok(error instanceof ProblemError && error.code === 'path_forbidden')
    assert.match(error.message, new RegExp(`uid ${uid}\\) may not enter`))
    assert.match(error.hint ?? '', /chown -R/)
    return true
  })
  assert.equal(await readManifest(await filesOf(planned), path), null)
  await chown(path, uid, gid)
  assert.equal(await sources.checkFolder(planned), path)

  // A folder of root is nobody's to look into.
  const closed = join(people, 'closed')
  await mkdir(closed, { mode: 0o700 })
  await writeFile(join(closed, 'stackquay.yml'), 'name: Secret\n')
  assert.equal(await readManifest(await filesOf({ id: 'prj_new', path: closed }), closed), null)
})

test('a project file that is a link, a pipe or huge is none', { timeout: 30_000 }, async (t) => {
  const { people, filesOf, home } = await place(t)
  await writeFile(join(home, 'outside.yml'), 'name: Outside\n')
  const make: Readonly<Record<string, (file: string) => unknown>> = {
    link: (file) => symlink(join(home, 'outside.yml'), file),
    pipe: (file) => execFileSync('mkfifo', [file]),
    huge: (file) => writeFile(file, Buffer.alloc(200_001)),
    folder: (file) => mkdir(file),
  }
  for (const [name, act] of Object.entries(make)) {
    const path = join(people, name)
    await mkdir(path)
    await act(join(path, 'stackquay.yml'))
    assert.equal(await readManifest(await filesOf({ id: 'prj_1', path }), path), null, name)
  }
})

test('what goes wrong with files is a problem that says what to do', () => {
  const codeOf = (code: FilesError['code']) => problemErrorOf(new FilesError(code)).code
  assert.deepEqual(
    [codeOf('disk_full'), codeOf('broken'), codeOf('timeout'), codeOf('denied'), codeOf('failed')],
    ['disk_full', 'unavailable', 'unavailable', 'io_failed', 'io_failed'],
  )
  assert.ok((problemErrorOf(new FilesError('denied')).hint ?? '').length > 10)
})

type Place = { readonly id: string; readonly path: string }
