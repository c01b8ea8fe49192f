import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { linkSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { withPrefix } from '../src/tar-prefix.ts'

describe('An archive that is given a prefix', () => {
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-prefix-'))
  const long = `${'long'.repeat(40)}.txt`
  let archive: Buffer

  before(() => {
    const source = join(folder, 'source')
    mkdirSync(join(source, 'sub'), { recursive: true })
    writeFileSync(join(source, 'sub', 'a'), 'x'.repeat(300_000), { mode: 0o640 })
    linkSync(join(source, 'sub', 'a'), join(source, 'sub', 'b'))
    symlinkSync('a', join(source, 'sub', 'c'))
    writeFileSync(join(source, long), '')
    const made = spawnSync('tar', ['-C', source, '-cf', '-', 'sub', long], { maxBuffer: 10_000_000 })
    assert.equal(made.status, 0)
    archive = made.stdout
  })

  after(() => rmSync(folder, { recursive: true, force: true }))

  test('unpacks into that folder, with modes, times and links as they were', async () => {
    const input = Buffer.concat(await Array.fromAsync(withPrefix(inPieces(archive), 'cluster')))
    const target = join(folder, 'target')
    mkdirSync(target)
    assert.equal(spawnSync('tar', ['-x', '-C', target], { input }).status, 0)
    const at = (name: string) => join(target, 'cluster', name)
    assert.equal(statSync(at('')).mode & 0o777, 0o700)
    assert.equal(statSync(at('sub/a')).mode & 0o777, 0o640)
    assert.equal(statSync(at('sub/a')).ino, statSync(at('sub/b')).ino)
    assert.equal(statSync(at('sub/c')).size, 300_000)
    assert.equal(statSync(at(long)).size, 0)
    assert.equal(
      Math.floor(statSync(at('sub/a')).mtimeMs / 1000),
      Math.floor(statSync(join(folder, 'source', 'sub', 'a')).mtimeMs / 1000),
    )
  })

  test('is an error, and no more than that, when it breaks off', async () => {
    await assert.rejects(Array.fromAsync(withPrefix(inPieces(archive.subarray(0, 100_000)), 'cluster')), /end of data/)
    const failing = async function* () {
      yield archive.subarray(0, 100_000)
      throw new Error('The line broke.')
    }
    await assert.rejects(Array.fromAsync(withPrefix(failing(), 'cluster')), /The line broke/)
    await delay(50)
  })

  test('is the same however it is cut, and with names and numbers of other formats', async () => {
    for (const format of ['gnu', 'ustar', 'posix']) {
      const names = format === 'ustar' ? ['sub'] : ['sub', long]
      const source = join(folder, 'source')
      const { stdout } = spawnSync('tar', ['-C', source, `--format=${format}`, '-cf', '-', ...names])
      const whole = Buffer.concat(await Array.fromAsync(withPrefix(inPieces(stdout), 'cluster')))
      for (const size of [97, 511, 513, 100_000])
        assert.ok(Buffer.concat(await Array.fromAsync(withPrefix(inPieces(stdout, size), 'cluster'))).equals(whole))
      const listed = spawnSync('tar', ['-t'], { input: whole, encoding: 'utf8' }).stdout.trim().split('\n')
      const expected = ['sub/', 'sub/a', 'sub/b', 'sub/c', ...names.slice(1)].map((name) => `cluster/${name}`)
      assert.deepEqual(listed.toSorted(), ['./', 'cluster/', ...expected].toSorted(), format)
    }
  })

  test('that is damaged is refused', async () => {
    const damaged = Buffer.from(archive)
    damaged[5]! ^= 1
    await assert.rejects(Array.fromAsync(withPrefix(inPieces(damaged), 'cluster')), { code: 'broken_archive' })
    // Between two entries, too.
    const cut = archive.subarray(0, 512)
    await assert.rejects(Array.fromAsync(withPrefix(inPieces(cut), 'cluster')), { code: 'broken_archive' })
  })

  test('ends what it is read from when nobody reads it further', async () => {
    const ended = Promise.withResolvers<string>()
    const source = async function* () {
      try {
        for (;;) yield* inPieces(archive.subarray(0, 200_000))
      } finally {
        ended.resolve('ended')
      }
    }
    for await (const chunk of withPrefix(source(), 'cluster')) if (chunk.length > 0) break
    assert.equal(await Promise.race([ended.promise, delay(5_000, 'it goes on', { ref: false })]), 'ended')
  })
})

async function* inPieces(bytes: Buffer, size = 10_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
