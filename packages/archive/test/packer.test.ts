import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { zstdDecompressSync } from 'node:zlib'
import { findZstd } from '../src/find-zstd.ts'
import { openArchiveFolder } from '../src/index.ts'
import { type Content, packFile } from '../src/packer/packer.ts'
import { archiveError, chunks, never, part, temporaryFolder } from './temp-archives.ts'

const compressors = [findZstd(), null]
const nameOf = (zstd: string | null) => (zstd === null ? 'node:zlib' : 'the program')
const purpose = { countsTree: false, signal: never }

test('zstd is found on the PATH, as a program and nothing else', (t) => {
  const folder = temporaryFolder(t)
  assert.match(findZstd()!, /^\/.*\/zstd$/)
  assert.equal(findZstd(folder), null)
  writeFileSync(join(folder, 'zstd'), '')
  assert.equal(findZstd(folder), null)
  chmodSync(join(folder, 'zstd'), 0o755)
  assert.equal(findZstd(`.::${folder}`), join(folder, 'zstd'))
})

function programOf(t: TestContext): (body: string) => string {
  const file = join(temporaryFolder(t), 'zstd')
  return (body) => {
    writeFileSync(file, `#!/bin/sh\nPATH=/usr/bin:/bin\n${body}\n`, { mode: 0o755 })
    return file
  }
}

test('a program that dies, complains or stops reading makes no part, however much it wrote before', async (t) => {
  const program = programOf(t)
  const bodies = [
    'head -c 100000 | zstd -3 -c -q; kill -KILL $$',
    'head -c 100000 | zstd -3 -c -q; kill -TERM $$',
    'zstd -3 -c -q; echo "Something is wrong." >&2; exit 1',
    'exit 1',
    'head -c 100000 | zstd -3 -c -q; exit 0',
    'exec 0<&-; echo; sleep 0.1; exit 3',
  ]
  for (const body of bodies) {
    const root = join(temporaryFolder(t), 'backups')
    const archives = openArchiveFolder(root, { zstd: program(body) })
    await using writer = await archives.create('bak_0123456789')
    await assert.rejects(
      writer.add(part('files'), chunks(randomBytes(3_000_000)), { signal: never }),
      archiveError('compression_failed'),
      body,
    )
    assert.deepEqual(readdirSync(join(root, '.bak_0123456789.new')), [], body)
  }
  const file = join(temporaryFolder(t), 'file')
  const pack = (zstd: string) => packFile(file, chunks(randomBytes(10)), { ...purpose, zstd })
  await assert.rejects(pack('/nowhere/zstd'), archiveError('compression_failed'))
  await assert.rejects(pack(program(bodies[2]!)), /exit code 1 Something is wrong/)
})

test('a program that dies while the content waits is noticed at once', async (t) => {
  async function* waits() {
    yield randomBytes(10)
    await new Promise(() => {})
  }
  const file = join(temporaryFolder(t), 'file')
  await assert.rejects(packFile(file, waits(), { ...purpose, zstd: programOf(t)('exit 7') }), /exit code 7/)
})

test('the content is read no faster than it is written', async (t) => {
  let given = 0
  async function* endless() {
    for (; ; given += 1 << 16) yield randomBytes(1 << 16)
  }
  const ending = new AbortController()
  const zstd = programOf(t)('exec sleep 30')
  const packing = packFile(join(temporaryFolder(t), 'file'), endless(), { ...purpose, zstd, signal: ending.signal })
  packing.catch(() => undefined)
  while (given < 1 << 20) await delay(50)
  await delay(300)
  ending.abort(new Error('Enough.'))
  await assert.rejects(packing, /Enough/)
  assert.ok(given < 32 << 20, `${given} bytes were read ahead`)
})

for (const zstd of compressors)
  test(`no more is read than can be written soon, by ${nameOf(zstd)}`, async (t) => {
    let given = 0
    async function* endless() {
      for (; ; given += 1 << 16) yield randomBytes(1 << 16)
    }
    const ending = new AbortController()
    const file = join(temporaryFolder(t), 'file')
    const packing = packFile(file, endless(), { ...purpose, zstd, signal: ending.signal })
    packing.catch(() => undefined)
    while (given < 64 << 20) {
      const written = statSync(file, { throwIfNoEntry: false })?.size ?? 0
      // What cannot be compressed is as long in the file.
      assert.ok(given - written < 32 << 20, `${given - written} bytes were read ahead`)
      await delay(10)
    }
    ending.abort(new Error('Enough.'))
    await assert.rejects(packing, /Enough/)
  })

for (const zstd of compressors) {
  test(`what a program writes goes into the file whole, with its numbers, by ${nameOf(zstd)}`, async (t) => {
    const folder = temporaryFolder(t)
    const content = Buffer.concat([randomBytes(9_000_000), Buffer.alloc(9_000_000, 'stackquay ')])
    writeFileSync(join(folder, 'content'), content)
    const told: number[] = []
    const file = join(folder, 'file')
    const from = written(['cat', join(folder, 'content')])
    const packed = await packFile(file, from, { ...purpose, zstd, onBytes: (bytes) => told.push(bytes) })
    const stored = readFileSync(file)
    assert.ok(zstdDecompressSync(stored).equals(content))
    const sha256 = execFileSync('sha256sum', [file], { encoding: 'utf8' }).slice(0, 64)
    assert.deepEqual(packed, { bytes: stored.length, sha256, contentBytes: content.length, tree: null })
    assert.equal(told.at(-1), content.length)
  })

  test(`nothing is left of what was cancelled or went wrong, no process either, by ${nameOf(zstd)}`, async (t) => {
    const folder = temporaryFolder(t)
    const file = join(folder, 'file')
    const cancelled = new AbortController()
    const from = written(['sh', '-c', 'cat /dev/urandom'])
    const packing = packFile(file, from, { ...purpose, zstd, signal: cancelled.signal })
    while (!(statSync(file, { throwIfNoEntry: false })?.size ?? 0)) await delay(20)
    cancelled.abort(new Error('Cancelled.'))
    await assert.rejects(packing, /Cancelled/)
    const failing = written(['sh', '-c', 'head -c 3000000 /dev/urandom; exit 5'])
    await assert.rejects(packFile(file, failing, { ...purpose, zstd }), /ended 5/)
    const throwing = async function* () {
      yield randomBytes(3_000_000)
      throw new Error('It broke off.')
    }
    await assert.rejects(packFile(file, throwing(), { ...purpose, zstd }), /broke off/)
    assert.deepEqual(readdirSync(folder), [])
    await delay(200)
    assert.equal(holding(folder), '')
  })
}

/** What a program writes by itself, as engines give it. */
function written([command, ...args]: [string, ...string[]]): Content {
  return {
    async into(pipe: Socket, signal: AbortSignal) {
      const child = spawn(command, args, { stdio: ['ignore', pipe, 'ignore'] })
      pipe.destroy()
      const end = () => child.kill('SIGKILL')
      signal.addEventListener('abort', end, { once: true })
      const [code] = await once(child, 'exit')
      if (code !== 0) throw new Error(`It ended ${code}.`)
      return true
    },
    [Symbol.asyncIterator]() {
      throw new Error('It does not pass by here.')
    },
  }
}

/** Processes that have something in a folder open, also what was removed. */
function holding(folder: string): string {
  return execFileSync('sh', ['-c', `ls -l /proc/[0-9]*/fd 2>/dev/null | grep -F "${folder}" || true`], {
    encoding: 'utf8',
  })
}
