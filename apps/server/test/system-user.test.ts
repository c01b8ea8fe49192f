import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ensureSystemUser } from '../src/users/system-user.ts'

const execute = promisify(execFile)
const isRoot = process.getuid?.() === 0
const module = fileURLToPath(new URL('../src/users/system-user.ts', import.meta.url))

/** A name that nobody has, gone afterwards. */
function freshName(t: TestContext): string {
  const name = `stqt-${randomBytes(4).toString('hex')}`
  t.after(async () => {
    // Also when it shares its uid with a user who is busy.
    await execute('userdel', ['--force', name]).catch(() => undefined)
    await execute('groupdel', [name]).catch(() => undefined)
  })
  return name
}

const entryOf = async (name: string) => (await execute('getent', ['passwd', name])).stdout.trim().split(':')
const add = (...args: string[]) =>
  execFileSync('useradd', ['--no-log-init', '--no-create-home', ...args], { stdio: 'pipe' })
const refusal = async (name: string, why: RegExp) => {
  const before = (await execute('getent', ['passwd', name])).stdout
  await assert.rejects(ensureSystemUser(name), (error: { code: string; message: string; hint: string }) => {
    assert.equal(error.code, 'unavailable_here')
    assert.match(error.message, why)
    assert.match(error.hint, /never changes a user that exists/)
    return true
  })
  assert.equal((await execute('getent', ['passwd', name])).stdout, before, 'the user was touched')
}

if (isRoot) {
  test('a system user is made locked, without a shell, with a group of its own, and found again', async (t) => {
    const name = freshName(t)
    const made = await ensureSystemUser(name, { home: '/nonexistent/of-it' })
    const [, , uid, gid, , home, shell] = await entryOf(name)
    assert.deepEqual(made, { name, uid: Number(uid), gid: Number(gid) })
    assert.ok(made.uid > 0 && made.uid < 1000, String(made.uid))
    assert.equal(home, '/nonexistent/of-it')
    assert.match(shell!, /(nologin|false)$/)
    assert.match((await execute('getent', ['group', String(gid)])).stdout, new RegExp(`^${name}:`))
    assert.match((await execute('getent', ['shadow', name])).stdout.split(':')[1]!, /^[!*]/)
    assert.deepEqual(await ensureSystemUser(name), made)
  })

  test('several services that make the same users at the same time all get them', async (t) => {
    const names = [freshName(t), freshName(t)]
    const make = `const { ensureSystemUser } = await import(process.argv[1]); for (const name of process.argv.slice(2)) console.log(JSON.stringify(await ensureSystemUser(name)))`
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => execute(process.execPath, ['--input-type=module', '-e', make, module, ...names])),
    )
    assert.equal(new Set(answers.map(({ stdout }) => stdout)).size, 1, JSON.stringify(answers))
  })

  test('a user of that name with another purpose is refused and stays as it was', async (t) => {
    await refusal('root', /its uid is 0/)
    const shell = freshName(t)
    add('--system', '--user-group', '--shell', '/bin/sh', shell)
    await refusal(shell, /can log in with the shell \/bin\/sh/)
    const person = freshName(t)
    add('--user-group', '--uid', '48377', '--shell', '/usr/sbin/nologin', person)
    await refusal(person, /uid is 48377, which is a person/)
    const shared = freshName(t)
    add('--system', '--gid', 'nogroup', '--shell', '/usr/sbin/nologin', shared)
    await refusal(shared, /group is "nogroup"/)
    const password = freshName(t)
    add('--system', '--user-group', '--shell', '/usr/sbin/nologin', '--password', '$6$abc$def', password)
    await refusal(password, /has a password/)
    const double = freshName(t)
    add('--system', '--user-group', '--shell', '/usr/sbin/nologin', '--non-unique', '--uid', '65534', double)
    await refusal(double, /uid is 65534|shares the uid/)
  })

  test('without useradd it says why, and which command makes the user', async (t) => {
    const name = freshName(t)
    const folder = await mkdtemp(join(tmpdir(), 'stackquay-bare-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const getent = execFileSync('sh', ['-c', 'command -v getent'], { encoding: 'utf8' }).trim()
    await symlink(getent, join(folder, 'getent'))
    const { PATH } = process.env
    process.env.PATH = folder
    t.after(() => {
      process.env.PATH = PATH
    })
    await assert.rejects(ensureSystemUser(name), (error: { message: string; hint: string }) => {
      assert.match(error.message, /useradd is not installed/)
      assert.match(error.hint, new RegExp(`useradd --system .* ${name}`))
      return true
    })
  })
} else {
  test('without rights it says why, and which command makes the user', async () => {
    await assert.rejects(ensureSystemUser('stqt-nobody-made-it'), (error: { code: string; hint: string }) => {
      assert.equal(error.code, 'unavailable_here')
      assert.match(error.hint, /useradd --system/)
      return true
    })
  })
}
