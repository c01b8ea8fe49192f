import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { chmod, chown, cp, link, lstat, mkdir, mkdtemp, readdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { rounds } from '@stackquay/testkit/rounds'
import { createFrameReader, encodeFrame } from '../src/native/as-user/frames.ts'
import {
  copyBetween,
  copyToGive,
  createUserFiles,
  FilesError,
  type FilesErrorCode,
  makeGivenFolder,
  removeGivenFolder,
  runAsUser,
  sizeAsUser,
} from '../src/native/as-user/index.ts'
import { type ProjectFiles, projectFiles } from '../src/native/as-user/project-files.ts'
import { readWithTar } from '../src/native/as-user/read-with-tar.ts'
import type { Account } from '../src/native/index.ts'

const isRoot = process.getuid?.() === 0
/** As root also a user without an entry in /etc/passwd. */
const users: readonly (Account | null)[] = isRoot ? [null, { uid: 60_001, gid: 60_001 }] : [null]
const execute = promisify(execFile)

for (const account of users) {
  const who = account === null ? 'in this process' : `as uid ${account.uid}`

  describe(`files of a project ${who}`, () => {
    test('a file is read whole, and what is missing, too large, or no file is said by its code', async (t) => {
      const { files, root, put } = await tree(t, account)
      await put('a', 'hello\0world')
      assert.equal(String(await files.read({ root, path: 'a', maxBytes: 100 })), 'hello\0world')
      await put('empty', '')
      assert.equal((await files.read({ root, path: 'empty', maxBytes: 0 })).length, 0)
      const large = Buffer.alloc(9 << 20, 'x')
      await put('large', large)
      assert.deepEqual(await files.read({ root, path: 'large', maxBytes: large.length }), large)
      await fails('too_large', files.read({ root, path: 'large', maxBytes: large.length - 1 }))
      await fails('missing', files.read({ root, path: 'b', maxBytes: 100 }))
      await fails('missing', files.read({ root: join(root, 'nowhere'), path: 'b', maxBytes: 100 }))
      await put('folder/a', 'x')
      await fails('not_a_file', files.read({ root, path: 'folder', maxBytes: 100 }))
    })

    test('a sparse file of 5 GB is refused at once, and one that grows is read no further than the limit', async (t) => {
      const { files, root, put } = await tree(t, account)
      await put('sparse', '')
      await truncate(join(root, 'sparse'), 5 * 2 ** 30)
      const began = performance.now()
      await fails('too_large', files.read({ root, path: 'sparse', maxBytes: 64 << 20 }))
      assert.equal(
        (await files.readMany({ root, paths: ['sparse'], maxBytesEach: 1024, maxBytes: 1024 })).get('sparse'),
        true,
      )
      assert.ok(performance.now() - began < 5_000)
      assert.ok(((await sizeAsUser(account, root)) ?? 1e9) < 1 << 20, 'holes take no room')

      await put('log', '')
      let growing = true
      t.after(() => {
        growing = false
      })
      const grow = (async () => {
        while (growing) await writeFile(join(root, 'log'), Buffer.alloc(1 << 20), { flag: 'a' })
      })()
      let refused = 0
      for (let turn = 0; turn < 20 || refused === 0; turn += 1) {
        const read = await files.read({ root, path: 'log', maxBytes: 8 << 20 }).catch((error: FilesError) => error)
        if (Buffer.isBuffer(read)) assert.ok(read.length <= 8 << 20)
        else refused += Number(read.code === 'too_large')
      }
      growing = false
      await grow
    })

    test('no link leads out, and no path; links that stay inside are followed where that is asked for', async (t) => {
      const { files, root, put, outside } = await tree(t, account)
      await put('src/main.js', 'inside')
      await symlink(outside, join(root, 'out'))
      await symlink('../../outside', join(root, 'src', 'up'))
      await symlink(join(outside, 'canary'), join(root, 'file'))
      await symlink('src/main.js', join(root, 'near'))
      await symlink(join(root, 'src'), join(root, 'absolute'))
      await symlink('../src/../src/./main.js', join(root, 'src', 'round'))
      await symlink('loop', join(root, 'loop'))
      const paths = ['out/canary', 'src/up/canary', 'file', '../outside/canary', 'loop', 'src/../../outside/canary']
      for (const path of paths) {
        await assert.rejects(files.read({ root, path, maxBytes: 100, links: 'inside' }), FilesError, path)
        await assert.rejects(files.read({ root, path, maxBytes: 100 }), FilesError, path)
        await assert.rejects(files.list({ root, path: path.replace('/canary', ''), maxEntries: 10 }), FilesError, path)
      }
      await fails('outside', files.read({ root, path: join(outside, 'canary'), maxBytes: 100 }))
      const near = ['near', 'absolute/main.js', 'src/round', 'src/../near']
      const found = await files.readMany({ root, paths: [...near, ...paths], maxBytesEach: 100, maxBytes: 1000 })
      assert.deepEqual(
        [...found].map(([path, content]) => [path, String(content)]),
        near.map((path) => [path, 'inside']),
      )
      for (const path of near.slice(0, 3)) await assert.rejects(files.read({ root, path, maxBytes: 100 }), FilesError)
      await symlink(root, join(root, '..', 'alias'))
      await fails('not_a_folder', files.read({ root: join(root, '..', 'alias'), path: 'src/main.js', maxBytes: 100 }))
    })

    test('pipes, sockets, devices and folders are looked at and never opened', { timeout: 30_000 }, async (t) => {
      const { files, root, put } = await tree(t, account)
      await put('a', 'x')
      execFileSync('mkfifo', ['-m', '666', join(root, 'pipe')])
      const socket = createServer().listen(join(root, 'socket'))
      t.after(() => socket.close())
      const names = ['pipe', 'socket', ...(isRoot ? ['device'] : [])]
      if (isRoot) execFileSync('mknod', ['-m', '666', join(root, 'device'), 'c', '1', '5'])
      for (const path of names) await fails('not_a_file', files.read({ root, path, maxBytes: 100, links: 'inside' }))
      const found = await files.readMany({ root, paths: [...names, 'a'], maxBytesEach: 100, maxBytes: 100 })
      for (const name of names) assert.equal(found.get(name), true)
      const marks = await files.walk({ root, maxEntries: 10, skip: { names: [], endings: [] } })
      assert.deepEqual(marks.map(({ path }) => path).sort(), ['a', ...names].sort())
    })

    test('names are bytes: with line breaks, and ones that are no text', async (t) => {
      const { files, root, put } = await tree(t, account)
      await put('a\nb', 'x')
      await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe])]), 'y')
      await mkdir(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xe9])]))
      await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xe9]), Buffer.from('/in')]), 'z')
      if (account !== null) execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, root])
      const found = await files.walk({ root, maxEntries: 10, skip: { names: [], endings: [] } })
      assert.deepEqual(found.map(({ path }) => path).sort(), ['a\nb', 'f\xe9/in', '\xff\xfe'])
      assert.equal(String(await files.read({ root, path: 'a\nb', maxBytes: 10 })), 'x')
      const listed = await files.list({ root, path: '.', maxEntries: 10 })
      assert.deepEqual(listed.map(({ kind }) => kind).sort(), ['file', 'file', 'folder'])
      const marks = await files.statMany({ root, paths: ['a\nb', 'none'] })
      assert.match(marks[0]?.mark ?? '', /^33\d+ 1 \d+$/)
      assert.equal(marks[1], null)
      await removeGivenFolder(root)
      await assert.rejects(lstat(root), { code: 'ENOENT' })
    })

    test('very many entries: a walk ends at its limit, the size is known, and all of it goes', async (t) => {
      const entries = rounds(5_000, 100_000)
      const { files, root } = await tree(t, account)
      await runAsUser(account, [
        'sh',
        '-c',
        `mkdir -p "$1/many" && cd "$1/many" && seq ${entries} | xargs touch && echo x > 1`,
        '-',
        root,
      ])
      const skip = { names: ['b'], endings: ['.log'] }
      await fails('too_many', files.walk({ root, maxEntries: entries / 5, skip }))
      await fails('too_many', files.list({ root, path: 'many', maxEntries: 100 }))
      assert.ok(((await sizeAsUser(account, root)) ?? 0) > 0)
      await removeGivenFolder(root)
      await assert.rejects(lstat(root), { code: 'ENOENT' })
    })

    test('a folder that its owner may not read is refused, and removed all the same', async (t) => {
      const { files, root, put } = await tree(t, account)
      await put('closed/deep/a', 'x')
      await chmod(join(root, 'closed', 'deep'), 0)
      await chmod(join(root, 'closed'), 0)
      // Root is refused by no mode.
      if (account !== null || !isRoot) {
        await fails('denied', files.read({ root, path: 'closed/deep/a', maxBytes: 10 }))
        await fails('denied', files.walk({ root, maxEntries: 10, skip: { names: [], endings: [] } }))
      }
      assert.notEqual(await sizeAsUser(account, root), null)
      await removeGivenFolder(root)
      await assert.rejects(lstat(root), { code: 'ENOENT' })
    })

    test('a file is written whole with its mode, an exclusive one only once, and never through a link', async (t) => {
      const { files, root, outside } = await tree(t, account)
      const bytes = Buffer.from('one')
      await files.write({ root, path: 'a', bytes, mode: 0o600 })
      await files.write({ root, path: 'a', bytes: Buffer.from('two'), mode: 0o640 })
      const info = await lstat(join(root, 'a'))
      assert.deepEqual([info.mode & 0o777, info.uid], [0o640, account?.uid ?? process.getuid?.()])
      await fails('exists', files.write({ root, path: 'a', bytes, exclusive: true }))
      assert.equal(readFileSync(join(root, 'a'), 'utf8'), 'two')
      await files.makeFolder({ root, path: 'x/y/z', mode: 0o700 })
      await files.makeFolder({ root, path: 'x/y/z' })
      await files.write({ root, path: 'x/y/z/a', bytes, exclusive: true })
      await symlink(outside, join(root, 'out'))
      await assert.rejects(files.write({ root, path: 'out/new', bytes }), FilesError)
      await assert.rejects(files.makeFolder({ root, path: 'out/new' }), FilesError)
      await assert.rejects(files.makeFolder({ root, path: '../new' }), FilesError)
      await symlink(join(outside, 'canary'), join(root, 'link'))
      await files.write({ root, path: 'link', bytes })
      assert.equal(readFileSync(join(outside, 'canary'), 'utf8'), 'CANARY')
      assert.ok((await lstat(join(root, 'link'))).isFile(), 'the link itself was replaced')
      assert.deepEqual(await readdir(outside), ['canary'])
      assert.deepEqual((await readdir(root)).sort(), ['a', 'link', 'out', 'x'], 'no temporary file is left')
    })

    test('folders and programs are looked for with the rights of the user', async (t) => {
      const { files, root, put, outside } = await tree(t, account)
      await put('bin/tool', '#!/bin/sh')
      await chmod(join(root, 'bin', 'tool'), 0o755)
      await put('bin/text', '')
      const paths = ['none', 'text', 'tool'].map((name) => join(root, 'bin', name))
      assert.equal(await files.firstProgram(paths), paths[2])
      assert.equal(await files.firstProgram(paths.slice(0, 2)), null)
      assert.deepEqual(await files.folder(root), { real: root, lacks: null })
      await fails('missing', files.folder(join(root, 'none')))
      await fails('not_a_folder', files.folder(join(root, 'bin', 'text')))
      if (account === null) return
      await chmod(outside, 0o755)
      assert.deepEqual(await files.folder(outside), { real: outside, lacks: 'write' })
      await chmod(outside, 0o700)
      assert.deepEqual(await files.folder(outside), { real: outside, lacks: 'enter' })
      await fails('denied', files.folder(join(outside, 'inner')))
    })

    test('a call that takes too long is given up, and so is an aborted one', async (t) => {
      const { files, root } = await tree(t, account)
      await runAsUser(account, ['sh', '-c', 'mkdir -p "$1/many" && cd "$1/many" && seq 10000 | xargs touch', '-', root])
      const walk = { root, maxEntries: 100_000, skip: { names: [], endings: [] } }
      await fails('timeout', files.walk({ ...walk, timeoutMs: 20 }))
      const enough = new AbortController()
      const walking = files.walk({ ...walk, signal: enough.signal })
      setTimeout(() => enough.abort(new Error('enough')), 20)
      await assert.rejects(walking, /enough/)
      await assert.rejects(files.walk({ ...walk, signal: AbortSignal.abort(new Error('no')) }), /no/)
      assert.equal((await files.walk(walk)).length, 10_000)
    })

    test('short programs run as the user, with a limit of output and time', async () => {
      const { code, output } = await runAsUser(account, ['id', '-u'])
      assert.deepEqual([code, String(output).trim()], [0, String(account?.uid ?? process.getuid?.())])
      assert.equal((await runAsUser(account, ['test', '-e', '/nowhere'])).code, 1)
      assert.match((await runAsUser(account, ['sh', '-c', 'echo no >&2; exit 3'])).errors, /^no$/)
      await fails('too_large', runAsUser(account, ['yes'], { maxOutput: 1000 }))
      await fails('timeout', runAsUser(account, ['sleep', '60'], { timeoutMs: 50 }))
      const enough = AbortSignal.timeout(50)
      await assert.rejects(runAsUser(account, ['sleep', '60'], { signal: enough }), { name: 'TimeoutError' })
      await assert.rejects(runAsUser(account, ['no-such-program']).then(({ code }) => assert.equal(code, 0)))
    })

    test('a tree is copied with links, modes and empty folders, without names that are left out', async (t) => {
      const { root, put, place } = await tree(t, account)
      await put('a', 'x')
      await put('node_modules/b', 'x')
      await put('deep/node_modules/b', 'x')
      await put('run', '#!')
      await chmod(join(root, 'run'), 0o750)
      await symlink('/etc/passwd', join(root, 'link'))
      execFileSync('mkfifo', [join(root, 'pipe')])
      if (account !== null) await chown(join(root, 'pipe'), account.uid, account.gid)
      const other = account === null ? null : { uid: 60_002, gid: 60_002 }
      const to = join(place, 'copy')
      await makeGivenFolder(to, other)
      const from = { account, path: root, without: ['node_modules'] }
      await copyBetween(from, { account: other, path: to }, AbortSignal.timeout(30_000))
      assert.deepEqual((await readdir(to, { recursive: true })).sort(), ['a', 'deep', 'link', 'pipe', 'run'])
      const info = await lstat(join(to, 'run'))
      assert.deepEqual([info.mode & 0o700, info.uid], [0o700, other?.uid ?? process.getuid?.()])
      assert.equal((await lstat(to)).mode & 0o007, 0, 'no other user reads it')
      await removeGivenFolder(to)
    })

    test('files of the service are copied and given whole, and a folder that was filled half is removed', async (t) => {
      const { place } = await tree(t, null)
      const [from, to] = [join(place, 'ours'), join(place, 'given')]
      await mkdir(join(from, 'deep/empty'), { recursive: true })
      await mkdir(join(from, 'node_modules'))
      await writeFile(join(from, 'deep/run'), '#!', { mode: 0o755 })
      await symlink('nowhere', join(from, 'link'))
      await makeGivenFolder(to, null)
      const given = { account, path: to }
      const signal = AbortSignal.timeout(30_000)
      await copyToGive({ path: from, without: ['node_modules'] }, given, signal)
      assert.deepEqual((await readdir(to, { recursive: true })).sort(), ['deep', 'deep/empty', 'deep/run', 'link'])
      for (const name of ['.', 'deep', 'deep/empty', 'deep/run', 'link'])
        assert.equal((await lstat(join(to, name))).uid, account?.uid ?? process.getuid?.(), name)
      assert.equal((await lstat(join(to, 'deep/run'))).mode & 0o777, 0o755)
      await assert.rejects(
        copyToGive({ path: from }, given, signal),
        /could not be copied: EEXIST/,
        'nothing is overwritten',
      )
      await removeGivenFolder(to)
      await makeGivenFolder(to, null)
      await assert.rejects(copyToGive({ path: from }, given, AbortSignal.abort()), { name: 'AbortError' })
      assert.equal((await lstat(to)).uid, process.getuid?.(), 'it is given last')
      await removeGivenFolder(to)
    })
  })
}

if (isRoot) {
  describe('the process that acts as a user', () => {
    const account = { uid: 60_001, gid: 60_001 }

    test('it has no rights but those of the user, cannot get others, and no program of that user sees into it', async (t) => {
      const { files, root, put } = await tree(t, account)
      await put('a', 'x')
      await files.folder(root)
      const [pid] = helpersOf(account.uid)
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      assert.match(status, /^Uid:\t60001\t60001\t60001\t60001$/m)
      assert.match(status, /^Gid:\t60001\t60001\t60001\t60001$/m)
      assert.match(status, /^Groups:\t\s*$/m)
      for (const set of ['CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) assert.match(status, new RegExp(`^${set}:\t0+$`, 'm'))
      assert.match(status, /^NoNewPrivs:\t1$/m)
      assert.match(status, /^Umask:\t0027$/m)
      for (const file of ['environ', 'maps', 'mem', 'cwd/.', 'fd/0'])
        assert.notEqual((await runAsUser(account, ['cat', `/proc/${pid}/${file}`])).code, 0, file)
      const secret = join(root, '..', 'secret')
      await writeFile(secret, 'CANARY', { mode: 0o600 })
      await link(secret, join(root, 'hard'))
      await fails('denied', files.read({ root, path: 'hard', maxBytes: 100 }))
      await chmod(secret, 0o644)
      await fails('denied', files.read({ root, path: 'hard', maxBytes: 100, own: true }))
    })

    test('many files are read without it, as it reads them; what is not plain is left to it', async (t) => {
      const { root, put, outside, place } = await tree(t, account)
      await put('a', 'hello\0world')
      await put('empty', '')
      await put('block', 'x'.repeat(512))
      await put('folder/sub/b', 'deep')
      await put('-c', 'dash')
      await put('large', 'y'.repeat(3000))
      await link(join(root, 'a'), join(root, 'second'))
      await execute('mkfifo', [join(root, 'pipe')])
      await execute('mknod', [join(root, 'device'), 'c', '1', '3'])
      const limits = { root, maxBytesEach: 1000, maxBytes: 1200 }
      const plain = ['a', 'second', 'empty', '-c', 'nowhere', 'no/where', 'a/b', 'folder', 'pipe', 'device']
      const read = async (paths: readonly string[], over: object = {}) => {
        const quick = await readWithTar(account, { ...limits, paths, ...over }, undefined)
        const all = createUserFiles()
        t.after(all.close)
        assert.deepEqual(quick, await readByHelper(all.of(account), { ...limits, paths, ...over }))
        return quick
      }
      assert.equal((await read(plain))?.size, 7)
      // The second 512 bytes are more than all may hold together.
      assert.equal((await read(['block', 'a', 'empty'], { maxBytes: 520 }))?.get('a'), true)
      assert.equal((await read(['large', 'a']))?.get('large'), true)

      await symlink(join(outside, 'canary'), join(root, 'out'))
      await symlink('a', join(root, 'near'))
      await symlink(outside, join(root, 'way'))
      await put('closed', 'x')
      await chown(join(root, 'closed'), 0, 0)
      await chmod(join(root, 'closed'), 0o600)
      await put('huge', '')
      await truncate(join(root, 'huge'), 5 * 2 ** 30)
      for (const odd of [
        'folder/sub/b',
        'out',
        'near',
        'way/canary',
        'closed',
        'huge',
        '../outside/canary',
        'ünï',
        'a b',
        '.',
        '/etc/hosts',
      ])
        assert.equal(await readWithTar(account, { ...limits, paths: ['a', odd] }, undefined), null, odd)
      const many = Array.from({ length: 300 }, (_, at) => `n${at}`)
      assert.equal(await readWithTar(account, { ...limits, paths: many }, undefined), null)
      assert.equal(await readWithTar(account, { ...limits, root: join(place, 'gone'), paths: ['a'] }, undefined), null)
      await chmod(root, 0o700)
      await chown(root, 0, 0)
      assert.equal(await readWithTar(account, { ...limits, paths: ['a'] }, undefined), null)
      await assert.rejects(
        readWithTar(account, { ...limits, paths: ['a'] }, AbortSignal.abort(new Error('no more'))),
        /no more/,
      )
    })

    test('one that a program of the user kills is replaced once; killed again and again, the call says so', async (t) => {
      const { files, root, put } = await tree(t, account)
      await put('a', 'x')
      const read = () => files.read({ root, path: 'a', maxBytes: 10, own: true })
      await read()
      for (let turn = 0; turn < 3; turn += 1) {
        const [pid] = helpersOf(account.uid)
        await runAsUser(account, ['sh', '-c', `kill -9 ${pid}`])
        assert.equal(String(await read()), 'x')
        assert.notEqual(helpersOf(account.uid)[0], pid)
      }
      let killing = true
      const killer = (async () => {
        while (killing) {
          for (const pid of helpersOf(account.uid)) {
            try {
              process.kill(pid, 'SIGKILL')
            } catch {}
          }
          await sleep(1)
        }
      })()
      try {
        // The killer looks every few milliseconds: now and then an answer is faster.
        let said: unknown = null
        for (let turn = 0; turn < 50 && said === null; turn += 1) {
          const began = performance.now()
          said = await read().then(
            () => null,
            (error: unknown) => error,
          )
          assert.ok(performance.now() - began < 10_000)
        }
        assert.ok(said instanceof FilesError && said.code === 'broken', String(said))
      } finally {
        killing = false
        await killer
      }
      assert.equal(String(await read()), 'x')
    })

    test('one that a program of the user stops costs its time limit and no more', async (t) => {
      const { files, root, put } = await tree(t, account)
      await put('a', 'x')
      await files.folder(root)
      const [pid] = helpersOf(account.uid)
      await runAsUser(account, ['sh', '-c', `kill -STOP ${pid}`])
      await fails('timeout', files.folder(root, { timeoutMs: 200 }))
      assert.equal(String(await files.read({ root, path: 'a', maxBytes: 10 })), 'x')
      assert.ok(!helpersOf(account.uid).includes(pid!))
    })

    test('many users share a few processes, which end when they are not needed', async (t) => {
      const { root, put } = await tree(t, null)
      await put('a', 'x')
      await chmod(join(root, 'a'), 0o644)
      const linked = join(root, 'linked')
      await symlink('a', linked)
      await chmod(root, 0o755)
      const all = createUserFiles({ most: 2, idleMs: 300 })
      t.after(all.close)
      const uids = [60_011, 60_012, 60_013, 60_014, 60_015]
      let most = 0
      const counting = setInterval(() => {
        most = Math.max(most, uids.flatMap(helpersOf).length)
      }, 5)
      const reads = uids.flatMap((uid) =>
        Array.from({ length: 20 }, () =>
          all.of({ uid, gid: uid }).read({ root, path: 'linked', links: 'inside', maxBytes: 10 }),
        ),
      )
      assert.equal((await Promise.all(reads)).join(''), 'x'.repeat(100))
      clearInterval(counting)
      // An ended one may still be going.
      assert.ok(most <= 4, `${most} at once`)
      await waitFor(() => uids.flatMap(helpersOf).length === 0)
      await all.of({ uid: 60_011, gid: 60_011 }).read({ root, path: 'linked', links: 'inside', maxBytes: 10 })
      await all.release({ uid: 60_011, gid: 60_011 })
      assert.deepEqual(helpersOf(60_011), [])
      await all.of({ uid: 60_011, gid: 60_011 }).read({ root, path: 'linked', links: 'inside', maxBytes: 10 })
      await all.close()
      assert.deepEqual(helpersOf(60_011), [])
      await fails(
        'broken',
        all.of({ uid: 60_011, gid: 60_011 }).read({ root, path: 'linked', links: 'inside', maxBytes: 10 }),
      )
    })

    test('its program need not be readable to the user, and root is no user of a project', async (t) => {
      const { root, put, place } = await tree(t, account)
      await put('a', 'x')
      const closed = join(place, 'closed')
      await mkdir(closed, { mode: 0o700 })
      await cp(new URL('../src/native/as-user', import.meta.url), join(closed, 'as-user'), { recursive: true })
      await writeFile(join(closed, 'package.json'), '{"type":"module"}')
      const module_ = (await import(pathToFileURL(join(closed, 'as-user', 'user-files.ts')).href)) as {
        createUserFiles: typeof createUserFiles
      }
      const files = module_.createUserFiles()
      t.after(files.close)
      assert.equal(String(await files.of(account).read({ root, path: 'a', maxBytes: 10 })), 'x')
      assert.throws(() => createUserFiles().of({ uid: 0, gid: 60_001 }), FilesError)
      assert.throws(() => createUserFiles().of({ uid: 60_001, gid: 0 }), FilesError)
      await fails('denied', runAsUser({ uid: 0, gid: 0 }, ['id']))
    })

    test('it ends with the service, also one that was killed', async () => {
      const source = `
      import { createUserFiles } from ${JSON.stringify(new URL('../src/native/as-user/index.ts', import.meta.url).href)}
      await createUserFiles().of({ uid: 60021, gid: 60021 }).folder('/')
      console.log('ready')
      setInterval(() => {}, 1000)`
      const child = execFile(process.execPath, ['--no-warnings', '--input-type=module', '-e', source])
      await new Promise((resolve) => child.stdout?.once('data', resolve))
      assert.equal(helpersOf(60_021).length, 1)
      child.kill('SIGKILL')
      await waitFor(() => helpersOf(60_021).length === 0)
    })
  })
}

test('whatever a process answers that is not trusted, the caller gets an error or what it asked for', async () => {
  const answers: readonly unknown[] = [
    null,
    7,
    'x',
    [],
    {},
    [7],
    ['../a'],
    [[1, 2]],
    [['a/b', 'file']],
    -2,
    1e9,
    { real: 7 },
  ]
  const bodies = ['', 'x', '1 2 3 a\0', '-\0-\0', 'nonsense\0', '1 2 3 a\0'.repeat(50)]
  for (const value of answers)
    for (const body of bodies) {
      const files = projectFiles(async () => ({ value, bytes: Buffer.from(body) }))
      const root = '/r'
      const calls: readonly (() => Promise<unknown>)[] = [
        () => files.readMany({ root, paths: ['a', 'b'], maxBytesEach: 10, maxBytes: 10 }),
        () => files.statMany({ root, paths: ['a'] }),
        () => files.walk({ root, maxEntries: 10, skip: { names: [], endings: [] } }),
        () => files.list({ root, path: '.', maxEntries: 10 }),
        () => files.folder('/r'),
        () => files.firstProgram(['/a']),
      ]
      for (const call of calls) {
        const got = await call().catch((error: unknown) => error)
        if (got instanceof Error) assert.ok(got instanceof FilesError, `${String(value)} ${body}: ${got.stack}`)
      }
    }
  const limits = { json: 100, bytes: 100 }
  const read = () =>
    createFrameReader(
      () => limits,
      () => assert.fail('a frame came through'),
    )
  assert.throws(() => read()(encodeFrame('x'.repeat(200), Buffer.alloc(0)).subarray(0, 8)), RangeError)
  assert.throws(() => read()(encodeFrame('x', Buffer.alloc(101)).subarray(0, 8)), RangeError)
})

test('frames arrive whole, however they are cut', () => {
  const got: unknown[] = []
  const read = createFrameReader(
    () => ({ json: 1000, bytes: 1000 }),
    ({ json, bytes }) => got.push([json, String(bytes)]),
  )
  const all = Buffer.concat([
    encodeFrame({ a: 1 }, Buffer.from('one')),
    encodeFrame(2, Buffer.alloc(0)),
    encodeFrame('é', Buffer.from('x')),
  ])
  for (const byte of all) read(Buffer.from([byte]))
  read(all)
  const expected = [
    [{ a: 1 }, 'one'],
    [2, ''],
    ['é', 'x'],
  ]
  assert.deepEqual(got, [...expected, ...expected])
})

async function tree(t: TestContext, account: Account | null) {
  const place = await mkdtemp(join(tmpdir(), 'stackquay-user-files-'))
  t.after(() => execute('rm', ['-rf', '--', place]))
  await chmod(place, 0o711)
  const root = join(place, 'project')
  const outside = join(place, 'outside')
  await mkdir(outside, { mode: 0o755 })
  // Any user may read it: only the helper prevents it.
  await writeFile(join(outside, 'canary'), 'CANARY', { mode: 0o644 })
  await makeGivenFolder(root, account)
  const all = createUserFiles()
  t.after(all.close)
  const put = async (name: string, content: string | Buffer) => {
    const parts = name.split('/')
    for (let depth = 1; depth <= parts.length; depth += 1) {
      const path = join(root, ...parts.slice(0, depth))
      if (depth < parts.length) await mkdir(path, { recursive: true })
      else await writeFile(path, content)
      if (account !== null) await chown(path, account.uid, account.gid)
    }
  }
  return { files: all.of(account), root, outside, place, put }
}

/** By its helper, which is there by then. */
async function readByHelper(files: ProjectFiles, options: Parameters<ProjectFiles['readMany']>[0]) {
  await files.folder('/')
  return files.readMany(options)
}

async function fails(code: FilesErrorCode, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(promise, (error: unknown) => {
    assert.ok(error instanceof FilesError, String(error))
    assert.equal(error.code, code, `${error.message} ${String(error.cause ?? '')}`)
    assert.ok(!error.message.includes('CANARY'))
    return true
  })
}

function helpersOf(uid: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'latin1')
        return (
          status.includes(`\nUid:\t${uid}\t`) &&
          !status.includes('\nState:\tZ') &&
          readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('as-user/helper.ts')
        )
      } catch {
        return false
      }
    })
}

async function waitFor(holds: () => boolean): Promise<void> {
  const late = AbortSignal.timeout(10_000)
  while (!holds()) await sleep(20, undefined, { signal: late })
}
