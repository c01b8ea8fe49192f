import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { archiveEntry, archiveOf, hostileArchives } from '@stackquay/engine-api/conformance-archives'
import {
  clearTree,
  FilesError,
  type FilesErrorCode,
  makeGivenFolder,
  readTree,
  requireClearable,
  writeTree,
} from '../src/native/as-user/index.ts'
import { startAsUser } from '../src/native/as-user/run-as-user.ts'
import type { Account } from '../src/native/index.ts'

const execute = promisify(execFile)
const isRoot = process.getuid?.() === 0
const users: readonly (Account | null)[] = isRoot ? [{ uid: 60_002, gid: 60_002 }] : [null]
const never = new AbortController().signal

for (const account of users) {
  describe(`archives of source folders ${account === null ? 'in this process' : `as uid ${account.uid}`}`, () => {
    test('what was read is written again with modes, links, times and holes, without what is named', async (t) => {
      const { from, to, shell } = await folders(t, account)
      await shell(
        from,
        `mkdir -p src/deep node_modules/x src/node_modules; echo hi > src/f; chmod 0751 src/f; ln src/f src/hard
        ln -s ../../up src/up; ln -s /etc/passwd out; truncate -s 40M sparse; printf end >> sparse; echo x > node_modules/x/y
        echo x > src/node_modules/y; chmod 0711 src; touch -d '2020-02-03 04:05:06Z' src/deep; mkfifo pipe; touch 'ü*'`,
      )
      const archive = readTree(account, from, { without: ['node_modules'], signal: never })
      await writeTree(account, to, archive.bytes, never)
      assert.deepEqual(archive.warnings(), ['pipe: a pipe or device; it was left out'])
      assert.deepEqual((await readdir(to, { recursive: true })).sort(), [
        'out',
        'sparse',
        'src',
        'src/deep',
        'src/f',
        'src/hard',
        'src/up',
        'ü*',
      ])
      assert.equal((await stat(join(to, 'src/f'))).mode & 0o7777, 0o751)
      assert.equal((await stat(join(to, 'src'))).mode & 0o7777, 0o711)
      assert.equal((await stat(join(to, 'src/deep'))).mtime.toISOString(), '2020-02-03T04:05:06.000Z')
      assert.equal((await stat(join(to, 'src/f'))).ino, (await stat(join(to, 'src/hard'))).ino)
      assert.equal(await readlink(join(to, 'src/up')), '../../up')
      assert.equal(await readlink(join(to, 'out')), '/etc/passwd')
      const sparse = await stat(join(to, 'sparse'))
      assert.equal(sparse.size, (40 << 20) + 3)
      assert.ok(sparse.blocks < 1000, `${sparse.blocks} blocks`)
      if (account !== null) assert.equal((await stat(join(to, 'src/f'))).uid, account.uid)
    })

    test('a database that a program writes to is consistent, in both of its modes, and brings no log of its own', async (t) => {
      for (const mode of ['wal', 'delete']) {
        const { from, to } = await folders(t, account)
        const writer = await startWriter(account, join(from, 'app.db'), mode)
        t.after(() => writer.kill('SIGKILL'))
        const archive = readTree(account, from, { signal: never })
        await writeTree(account, to, archive.bytes, never)
        assert.equal(writer.exitCode, null, 'it wrote until the end')
        writer.kill('SIGKILL')
        await once(writer, 'exit')
        assert.deepEqual(archive.warnings(), [])
        assert.deepEqual(await readdir(to), ['app.db'])
        const database = new DatabaseSync(join(to, 'app.db'))
        assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
        // Each transaction moves one from a to b.
        const sums = database
          .prepare('SELECT sum(a + b) AS both, sum(b) AS moved, (SELECT count(*) FROM log) AS logged FROM t')
          .get()
        assert.equal(sums?.both, 2_000_000)
        assert.equal(sums.moved, sums.logged)
        assert.ok(Number(sums.moved) > 0, 'something was written before')
        database.close()
      }
    })

    test('a database that SQLite cannot copy is taken as a file, and named', async (t) => {
      const { from, to, shell } = await folders(t, account)
      await shell(from, `{ printf 'SQLite format 3\\0'; head -c 4080 /dev/urandom; } > broken.db`)
      const archive = readTree(account, from, { signal: never })
      await writeTree(account, to, archive.bytes, never)
      assert.match(archive.warnings().join(), /^broken\.db: SQLite could not copy it/)
      assert.deepEqual(await readFile(join(to, 'broken.db')), await readFile(join(from, 'broken.db')))
    })

    test('a file that changes meanwhile, or cannot be read, is a warning; a folder that is not there is an error', async (t) => {
      const { from, shell } = await folders(t, account)
      await shell(from, 'head -c 20000000 /dev/zero | tr "\\0" x > large; touch z')
      const growing = readTree(account, from, { signal: never })
      let seen = 0
      for await (const chunk of growing.bytes) {
        if (seen === 0) await writeFile(join(from, 'large'), 'short')
        seen += chunk.length
      }
      assert.match(growing.warnings().join(), /^large: (File shrank by \d+ bytes|file changed as we read it)/)
      await shell(from, 'echo x > secret')
      if (account !== null) {
        await chown(join(from, 'secret'), 0, 0)
        await chmod(join(from, 'secret'), 0o600)
        const archive = readTree(account, from, { signal: never })
        await Array.fromAsync(archive.bytes)
        assert.match(archive.warnings().join(), /secret: it could not be read \(Permission denied\)/)
        await chown(from, 0, 0)
        await chmod(from, 0o700)
        await fails('denied', Array.fromAsync(readTree(account, from, { signal: never }).bytes))
      }
      await fails('missing', Array.fromAsync(readTree(account, join(from, '..', 'nowhere'), { signal: never }).bytes))
    })

    test('who stops reading, aborts, or is slow leaves no program and no copies behind', async (t) => {
      const { from, shell } = await folders(t, account)
      await shell(from, 'head -c 30000000 /dev/zero > large')
      new DatabaseSync(join(from, 'app.db')).exec('CREATE TABLE t (a)')
      if (account !== null) await chown(join(from, 'app.db'), account.uid, account.gid)
      const before = await copies()
      for await (const chunk of readTree(account, from, { signal: never }).bytes) {
        assert.ok(chunk.length > 0)
        assert.equal((await copies()).length, before.length + 1)
        break
      }
      assert.deepEqual(await copies(), before)
      const abort = new AbortController()
      const reading = (async () => {
        for await (const _ of readTree(account, from, { signal: abort.signal }).bytes) abort.abort(new Error('enough'))
      })()
      await assert.rejects(reading, /enough/)
      assert.deepEqual(await copies(), before)
      assert.deepEqual(await programs('tar', from), [])
    })

    test('nothing of a hostile archive gets outside of the folder', async (t) => {
      const { to, outside, shell } = await folders(t, account)
      for (const archive of hostileArchives())
        await fails('invalid_archive', writeTree(account, to, from([archive]), never))
      for (const target of [outside, '../outside', 'up']) {
        const through = [
          archiveEntry('./up', '2', '../outside'),
          archiveEntry('./link', '2', target),
          archiveEntry('./link/x', '0', 'x'),
        ]
        await fails('invalid_archive', writeTree(account, to, from([archiveOf(...through)]), never))
      }
      assert.deepEqual(await readdir(outside), ['canary'])
      await clearTree(account, to, { except: [] })
      await shell(to, `ln -s '${outside}' there; mkdir kept; ln -s '${outside}/canary' kept/file`)
      const archive = archiveOf(
        archiveEntry('./up', '2', '../outside'),
        archiveEntry('./there/through', '0', 'x'),
        archiveEntry('./kept/file', '0', 'mine'),
        archiveEntry('./canary', '2', `${outside}/canary`),
        archiveEntry('./canary', '0', 'x'),
        archiveEntry('./hard', '1', './up'),
        archiveEntry('./fifo', '6'),
        archiveEntry('./setuid', '0', 'x'),
        archiveEntry('./folder/', '5'),
        archiveEntry('./out', '2', outside),
      )
      await writeTree(account, to, from([archive]), never)
      assert.deepEqual(await readdir(outside), ['canary'])
      assert.equal(await readFile(join(outside, 'canary'), 'utf8'), 'CANARY')
      assert.equal(await readFile(join(to, 'kept/file'), 'utf8'), 'mine')
      assert.equal(await readlink(join(to, 'out')), outside)
      assert.equal((await stat(join(to, 'setuid'))).mode & 0o7000, 0)
      await assert.rejects(lstat(join(to, 'fifo')), { code: 'ENOENT' })
      assert.ok((await lstat(join(to, 'there'))).isDirectory())
    })

    test('a folder is cleared but for what is kept at any depth', async (t) => {
      const { to, outside, shell } = await folders(t, account)
      await shell(
        to,
        `mkdir -p a/b a/node_modules/x/c node_modules 'we[i]rd' a/c locked/in; touch a/f a/node_modules/x/y x 'we[i]rd/z' locked/in/f
        ln -s '${outside}' out; chmod 0 locked/in locked`,
      )
      await clearTree(account, to, { except: ['node_modules', 'we[i]rd'] })
      const left = ['a', 'a/node_modules', 'a/node_modules/x', 'a/node_modules/x/c', 'a/node_modules/x/y']
      assert.deepEqual((await readdir(to, { recursive: true })).sort(), [
        ...left,
        'node_modules',
        'we[i]rd',
        'we[i]rd/z',
      ])
      await clearTree(account, to, { except: [] })
      assert.deepEqual(await readdir(to), [])
      assert.deepEqual(await readdir(outside), ['canary'])
    })

    test('a folder that cannot be cleared whole is left as it is', async (t) => {
      const { to, shell } = await folders(t, account)
      await shell(to, 'mkdir -p a/theirs kept/theirs b; touch a/f b/f')
      const all = (await readdir(to, { recursive: true })).sort()
      if (account !== null) {
        // Of a program in a container, for instance.
        await chown(join(to, 'a/theirs'), 0, 0)
        await chown(join(to, 'kept/theirs'), 0, 0)
        await requireClearable(account, to, { except: ['kept'] })
        await writeFile(join(to, 'a/theirs/f'), 'x')
        await writeFile(join(to, 'kept/theirs/f'), 'x')
        const refused = { name: 'FilesError', code: 'denied', message: /may not remove what is in "a\/theirs"/ }
        await assert.rejects(clearTree(account, to, { except: ['kept'] }), refused)
        await assert.rejects(requireClearable(account, to, { except: ['kept'] }), refused)
        assert.deepEqual(
          (await readdir(to, { recursive: true })).sort(),
          [...all, 'a/theirs/f', 'kept/theirs/f'].sort(),
        )
        await rm(join(to, 'a/theirs'), { recursive: true })
        await mkdir(join(to, 'a/m nt'))
        await execute('mount', ['-t', 'tmpfs', 'none', join(to, 'a/m nt')])
        t.after(() => execute('umount', [join(to, 'a/m nt')]).catch(() => undefined))
        const mounted = { name: 'FilesError', code: 'denied', message: 'Something is mounted at "a/m nt".' }
        await assert.rejects(clearTree(account, to, { except: ['kept'] }), mounted)
        assert.ok((await readdir(to, { recursive: true })).includes('b/f'))
        await requireClearable(account, to, { except: ['kept', 'a/m nt'] })
        await execute('umount', [join(to, 'a/m nt')])
      }
      await clearTree(account, to, { except: ['kept'] })
      assert.deepEqual((await readdir(to)).sort(), ['kept'])
    })

    test('a path is left out, and kept, at its place alone, with the databases in it', async (t) => {
      const { from, to, shell } = await folders(t, account)
      const make = 'mkdir -p .kept/old a/.kept/old; touch .kept/old/f .kept/g a/.kept/old/f'
      await shell(from, make)
      new DatabaseSync(join(from, '.kept/old/app.db')).exec('CREATE TABLE t (n int)')
      await shell(from, 'chmod 0666 .kept/old/app.db || true')
      const archive = readTree(account, from, { without: ['.kept/old'], signal: never })
      await writeTree(account, to, archive.bytes, never)
      assert.deepEqual(archive.warnings(), [])
      const names = ['.kept', '.kept/g', 'a', 'a/.kept', 'a/.kept/old', 'a/.kept/old/f']
      assert.deepEqual((await readdir(to, { recursive: true })).sort(), names)
      await clearTree(account, from, { except: ['.kept/old'] })
      assert.deepEqual((await readdir(from, { recursive: true })).sort(), [
        '.kept',
        '.kept/old',
        '.kept/old/app.db',
        '.kept/old/f',
      ])
    })
  })
}

async function folders(t: TestContext, account: Account | null) {
  const place = await mkdtemp(join(tmpdir(), 'stackquay-trees-'))
  t.after(() => execute('rm', ['-rf', '--', place]))
  await chmod(place, 0o711)
  const outside = join(place, 'outside')
  await mkdir(outside, { mode: 0o777 })
  await chmod(outside, 0o777)
  await writeFile(join(outside, 'canary'), 'CANARY', { mode: 0o666 })
  await chmod(join(outside, 'canary'), 0o666)
  const [from, to] = [join(place, 'from'), join(place, 'to')]
  await makeGivenFolder(from, account)
  await makeGivenFolder(to, account)
  const shell = async (folder: string, script: string) => {
    const child = await startAsUser(
      account,
      ['/bin/sh', '-c', `cd "$1" && ${script}`, 'sh', folder],
      ['ignore', 'ignore', 2],
    )
    const [code] = await once(child, 'exit')
    assert.equal(code, 0, script)
  }
  return { from, to, outside, shell }
}

/** Moves one from a column to the other in each transaction, and writes that down. */
const writing = `
const { DatabaseSync } = require('node:sqlite')
const [path, mode] = process.argv.slice(1)
const db = new DatabaseSync(path, { timeout: 20000 })
db.exec('PRAGMA journal_mode=' + mode + '; CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c); CREATE TABLE log (id); BEGIN')
const add = db.prepare('INSERT INTO t (a, b, c) VALUES (100, 0, ?)')
for (let i = 0; i < 20000; i += 1) add.run('x'.repeat(1000))
db.exec('COMMIT')
const move = db.prepare('UPDATE t SET a = a - 1, b = b + 1 WHERE id = ?'), log = db.prepare('INSERT INTO log VALUES (?)')
for (let k = 0; ; k += 1) {
  const id = 1 + (k * 7919) % 20000
  db.exec('BEGIN IMMEDIATE'); move.run(id); log.run(id); db.exec('COMMIT')
  if (k === 50) console.log('writing')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3)
}`

async function startWriter(account: Account | null, path: string, mode: string) {
  const ids = account === null ? {} : { uid: account.uid, gid: account.gid }
  const child = spawn(process.execPath, ['-e', writing, path, mode], { stdio: ['ignore', 'pipe', 'inherit'], ...ids })
  await once(child.stdout, 'data')
  return child
}

async function copies(): Promise<readonly string[]> {
  return (await readdir('/var/tmp')).filter((name) => /^stackquay-[0-9a-f]{24}$/.test(name)).sort()
}

async function programs(name: string, argument: string): Promise<readonly string[]> {
  const found: string[] = []
  for (const pid of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
    const line = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
    if (line[0] === name && line.includes(argument)) found.push(pid)
  }
  return found
}

async function* from(chunks: readonly Buffer[]): AsyncGenerator<Buffer, void> {
  yield* chunks
}

async function fails(code: FilesErrorCode, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(promise, (error: unknown) => {
    assert.ok(error instanceof FilesError, String(error))
    assert.equal(error.code, code, error.message)
    return true
  })
}
