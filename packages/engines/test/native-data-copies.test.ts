import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chown, mkdir, open, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { type Engine, EngineError, type LiveCopy } from '@stackquay/engine-api'
import { type NativeHarness, nativeHarness, testAccounts } from './native-harness.ts'

const run = promisify(execFile)
const never = new AbortController().signal

/** What conformance says of copies holds for each engine; this is about the files of this machine. */
describe('copies of kept data on this machine', () => {
  let harness: NativeHarness
  let engine: Engine
  let data: string

  before(async () => {
    harness = await nativeHarness()
    engine = await harness.open()
    data = join(harness.options.home, 'data')
  })
  after(() => harness.close())

  /** Kept data as its user would have made it. */
  const made = async (project: string, script: string) => {
    const folder = join(data, project, 'main')
    await mkdir(join(data, project), { recursive: true, mode: 0o711 })
    await mkdir(folder, { mode: 0o700 })
    const account = await testAccounts(harness.options.home).of(project)
    if (account === null) await run('/bin/sh', ['-c', script], { cwd: folder })
    else {
      await chown(folder, account.uid, account.gid)
      await run('/bin/sh', ['-c', script], { cwd: folder, uid: account.uid, gid: account.gid })
    }
    return folder
  }
  const copy = (project: string, to: { project: string; name: string }, live?: LiveCopy, signal = never) =>
    engine.copyData({ project, name: 'main' }, to, live === undefined ? {} : { live }, signal)
  const look = async (folder: string) =>
    (
      await run(
        '/bin/sh',
        ['-c', 'find . -printf "%p %y %m %s %l\\n" | sort; find . -type f | sort | xargs -d "\\n" sha256sum'],
        { cwd: folder },
      )
    ).stdout

  test('files, modes, links, holes and names that are no text come along; pipes do not', async () => {
    const folder = await made(
      'shop',
      `mkdir -p a/b c; echo hi > a/f; chmod 0640 a/f; chmod 0500 c; ln -s ../../../etc/passwd a/up; ln -s nowhere a/gone
      truncate -s 40M sparse; printf end >> sparse; head -c 3000001 /dev/urandom > large; : > empty; mkdir "$(printf 'n\\377')"
      echo x > "$(printf 'n\\377/y\\n')"; truncate -s 5M all-hole`,
    )
    const seen = await look(folder)
    await run('mkfifo', [join(folder, 'pipe')])
    const { method, bytes } = await copy('shop', { project: 'shop', name: 'first' })
    const copied = join(data, 'shop', 'first')
    assert.equal(await look(copied), seen)
    assert.equal(method, await engine.copyMethod('shop', never))
    assert.ok(((await engine.freeBytes('shop', never)) ?? 0) > 0)
    assert.ok(bytes >= 3_000_001 && bytes < 6e6, String(bytes))
    const { blocks, size } = await stat(join(copied, 'sparse'))
    assert.ok(size > 40e6 && blocks * 512 < 1e6, `${blocks}`)
    assert.equal((await stat(join(copied, 'all-hole'))).blocks, 0)
    const { uid, gid } = await stat(join(copied, 'a/f'))
    const own = await stat(join(folder, 'a/f'))
    assert.deepEqual([uid, gid], [own.uid, own.gid])
    assert.deepEqual((await readdir(join(data, 'shop'))).sort(), ['first', 'main'])
    await writeFile(join(folder, 'a/f'), 'changed')
    assert.equal(await readFile(join(copied, 'a/f'), 'utf8'), 'hi\n')
  })

  test('what goes to another project belongs to its user, links too and nothing that they lead to', async () => {
    const outside = join(harness.directory, 'outside')
    await writeFile(outside, 'mine')
    const before = await stat(outside)
    await made('giver', `mkdir d; echo hi > d/f; ln -s ${outside} d/link; chmod 0600 d/f`)
    await copy('giver', { project: 'taker', name: 'main' })
    const account = await testAccounts(harness.options.home).of('taker')
    const folder = join(data, 'taker', 'main')
    for (const path of ['.', 'd', 'd/f'])
      if (account !== null) assert.equal((await stat(join(folder, path))).uid, account.uid, path)
    assert.equal(await readlink(join(folder, 'd/link')), outside)
    assert.deepEqual([(await stat(outside)).uid, await readFile(outside, 'utf8')], [before.uid, 'mine'])
  })

  test('while programs write: what is left out stays out, folders come later, files that go away are none', async () => {
    const folder = await made(
      'live',
      'mkdir -p c/log c/log/sub c/tmp; echo 1 > c/log/1; echo x > c/tmp/x; echo p > c/pid; echo k > c/kept',
    )
    let calls = 0
    const between = async () => {
      calls += 1
      await writeFile(join(folder, 'c/log/2'), 'later\n')
      await rm(join(folder, 'c/log/1'))
      await writeFile(join(folder, 'c/kept'), 'changed\n')
      return { 'c/label': 'written' }
    }
    const live = { leftOut: ['c/pid', 'c/tmp'], later: ['c/log'], between }
    await copy('live', { project: 'live', name: 'first' }, live)
    const copied = join(data, 'live', 'first')
    assert.deepEqual((await readdir(copied, { recursive: true })).sort(), [
      'c',
      'c/kept',
      'c/label',
      'c/log',
      'c/log/2',
      'c/log/sub',
      'c/tmp',
    ])
    assert.equal(await readFile(join(copied, 'c/kept'), 'utf8'), 'k\n')
    assert.equal(await readFile(join(copied, 'c/label'), 'utf8'), 'written')
    assert.equal(calls, 1)
    const broken = async () => {
      throw new Error('It went away.')
    }
    await assert.rejects(copy('live', { project: 'live', name: 'second' }, { ...live, between: broken }), /went away/)
    assert.deepEqual((await readdir(join(data, 'live'))).sort(), ['first', 'main'])
  })

  test('a file that is truncated and one that grows while they are copied end', async () => {
    const folder = await made('busy', 'head -c 30000000 /dev/zero | tr "\\0" x > grows; cp grows shrinks')
    const grows = await open(join(folder, 'grows'), 'a')
    const shrinks = await open(join(folder, 'shrinks'), 'r+')
    let isOver = false
    const writing = (async () => {
      for (let turn = 0; !isOver; turn += 1) {
        await grows.write(Buffer.alloc(1 << 16, 120))
        await shrinks.truncate(Math.max(0, 30_000_000 - turn * 1_000_000))
      }
    })()
    const between = async () => ({})
    await copy('busy', { project: 'busy', name: 'first' }, { leftOut: [], later: [], between })
    isOver = true
    await writing
    await Promise.all([grows.close(), shrinks.close()])
  })

  test('an abort leaves nothing, and what a crash left goes with the next start', async () => {
    await made('cut', 'head -c 60000000 /dev/urandom > large')
    const abort = new AbortController()
    const between = async () => {
      abort.abort()
      return {}
    }
    const live = { leftOut: [], later: [], between }
    await assert.rejects(copy('cut', { project: 'cut', name: 'first' }, live, abort.signal), EngineError)
    assert.deepEqual(await readdir(join(data, 'cut')), ['main'])
    await mkdir(join(data, 'cut', '.incoming-first-0', 'content'), { recursive: true, mode: 0o700 })
    await writeFile(join(data, 'cut', '.incoming-first-0', 'content', 'half'), 'x')
    await engine.close()
    engine = await harness.open()
    for (let turn = 0; turn < 100 && (await readdir(join(data, 'cut'))).length > 1; turn += 1)
      await new Promise((resolve) => setTimeout(resolve, 50))
    assert.deepEqual(await readdir(join(data, 'cut')), ['main'])
    await assert.rejects(copy('nobody', { project: 'nobody', name: 'x' }), EngineError)
  })
})
