import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { createUserFiles } from '@stackquay/engines'
import { changedIn, isMade, sourceIdOf } from '../src/runs/source-id.ts'

const execute = promisify(execFile)

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'stackquay-source-id-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  await writeFile(join(path, 'a.js'), 'one')
  return path
}
const git = (cwd: string, ...args: string[]) =>
  execute('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'safe.directory=*', ...args], {
    cwd,
    env: { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
  })
const idOf = (path: string) =>
  sourceIdOf(path, AbortSignal.timeout(30_000), { account: null, files: createUserFiles().of(null) })

test('a folder has another name when a file of it changed, and the same when only what programs make did', async (t) => {
  const path = await folder(t)
  const first = await idOf(path)
  assert.match(String(first), /^[0-9a-f]{32}$/)
  await mkdir(join(path, 'node_modules'))
  await writeFile(join(path, 'node_modules', 'b.js'), 'x')
  await mkdir(join(path, '__pycache__'))
  assert.equal(await idOf(path), first)
  await writeFile(join(path, 'a.js'), 'two!')
  const second = await idOf(path)
  assert.notEqual(second, first)
  await writeFile(join(path, 'new.js'), '')
  assert.notEqual(await idOf(path), second)
})

test('a clean repository is named by what is committed, wherever and whenever it was checked out', async (t) => {
  const path = await folder(t)
  await writeFile(join(path, '.gitignore'), 'ignored.txt\n')
  await git(path, 'init', '--quiet')
  assert.notEqual(await idOf(path), null, 'one without a commit is a folder like any other')
  await git(path, 'add', '--all')
  await git(path, 'commit', '--quiet', '--message', 'First')
  const clean = await idOf(path)
  await utimes(join(path, 'a.js'), 1, 1)
  await writeFile(join(path, 'ignored.txt'), 'x')
  assert.equal(await idOf(path), clean)
  await writeFile(join(path, 'a.js'), 'two')
  const changed = await idOf(path)
  assert.notEqual(changed, clean)
  await writeFile(join(path, 'a.js'), 'three')
  assert.notEqual(await idOf(path), changed)
  await writeFile(join(path, 'a.js'), 'one')
  assert.equal(await idOf(path), clean)
  await writeFile(join(path, 'untracked file.js'), 'x')
  assert.notEqual(await idOf(path), clean)
})

test('a part of a repository is named by itself', async (t) => {
  const path = await folder(t)
  await mkdir(join(path, 'shop'))
  await writeFile(join(path, 'shop', 'b.js'), 'x')
  await git(path, 'init', '--quiet')
  await git(path, 'add', '--all')
  await git(path, 'commit', '--quiet', '--message', 'First')
  const shop = await idOf(join(path, 'shop'))
  await writeFile(join(path, 'a.js'), 'changed beside it')
  assert.equal(await idOf(join(path, 'shop')), shop)
  await writeFile(join(path, 'shop', 'b.js'), 'changed in it')
  assert.notEqual(await idOf(join(path, 'shop')), shop)
})

test('a repository’s own programs are not run, and links and pipes are looked at, never opened', async (t) => {
  const path = await folder(t)
  await git(path, 'init', '--quiet')
  await git(path, 'add', '--all')
  await git(path, 'commit', '--quiet', '--message', 'First')
  const proof = join(path, '.git', 'was-run')
  const program = join(path, '.git', 'evil')
  await writeFile(program, `#!/bin/sh\ntouch '${proof}'\n`)
  await chmod(program, 0o755)
  for (const name of ['core.fsmonitor', 'diff.external', 'core.sshCommand', 'core.pager', 'core.hooksPath'])
    await git(path, 'config', name, name === 'core.hooksPath' ? join(path, '.git') : program)
  await execute('mkfifo', [join(path, 'pipe')])
  await symlink('/etc', join(path, 'link'))
  assert.match(String(await idOf(path)), /^[0-9a-f]{32}$/)
  await assert.rejects(execute('test', ['-e', proof]), 'nothing was run')
})

test('a folder that is not there has no name', async () => {
  assert.equal(await idOf('/no/such/folder'), null)
})

test('what git says of the working tree is read with any name in it', () => {
  const status =
    ' M shop/a.js\0?? shop/new file\n.js\0?? shop/node_modules/x.js\0D  shop/gone.js\0?? shop/__pycache__/a.pyc\0'
  assert.deepEqual(changedIn(status, 'shop/'), ['a.js', 'gone.js', 'new file\n.js'])
  assert.deepEqual(changedIn('', ''), [])
  assert.equal(isMade('.pytest_cache'), true)
  assert.equal(isMade('tests'), false)
})
