import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type CopySource, openCopier, type Piece, type TargetError } from '@stackquay/targets'
import { never, targetError } from './conformance.ts'
import { folderPlace, temporaryFolder } from './places.ts'

/** Made once: a passphrase takes seconds on a busy machine, as it is meant to. */
const kept = (async () => {
  const place = await folderPlace()
  await using copier = openCopier({ access: { kind: 'folder', settings: { path: place.path } } })
  const { key, recoveryPassphrase } = await copier.setUpKey('correct horse battery', never)
  assert.equal(recoveryPassphrase, null)
  return { place, key }
})()
after(async () => (await kept).place[Symbol.asyncDispose]())

const id = 'bak_0123456789'

/** A place with a key, what uses it, and an archive of three pieces. */
async function stage(t: TestContext) {
  const { key } = await kept
  const { path, remove } = await temporaryFolder()
  t.after(remove)
  const retried: TargetError[] = []
  const copier = openCopier({
    access: { kind: 'folder', settings: { path } },
    key,
    onRetry: (error) => void retried.push(error),
  })
  t.after(() => copier[Symbol.asyncDispose]())
  await copier.restoreKey(never)
  const archive = randomBytes(17_000_000)
  const sent = new Map<number, Piece>()
  const options = {
    sent,
    onFirst: async () => undefined,
    onPiece: async (at: number, piece: Piece) => void sent.set(at, piece),
    onBytes: () => undefined,
    signal: never,
  }
  return { path, key, copier, archive, source: sourceOf(archive), sent, options, retried }
}

function sourceOf(archive: Buffer): CopySource {
  return {
    id,
    size: archive.length,
    async *read(from, to) {
      for (let at = from; at < to; at += 100_000) yield archive.subarray(at, Math.min(to, at + 100_000))
    },
    manifest: { project: { slug: 'shop' } },
    identity: null,
    instance: 'ins_0123456789',
    bySchedule: false,
  }
}

const piecesBelow = (path: string) => {
  const [copy] = existsSync(join(path, 'pieces')) ? readdirSync(join(path, 'pieces')) : []
  return copy === undefined ? [] : readdirSync(join(path, 'pieces', copy))
}

/** Processes of this one whose program is the copier. */
function copiers(): readonly number[] {
  return readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
    .split(' ')
    .filter((pid) => pid !== '' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('copier/program'))
    .map(Number)
}

test('an archive goes through a process of its own and comes back the same, piece by piece told', async (t) => {
  const { copier, archive, source, sent, options } = await stage(t)
  const told: number[] = []
  const index = await copier.send(source, { ...options, onBytes: (bytes) => told.push(bytes) })
  assert.deepEqual([...sent.keys()], [0, 1, 2])
  assert.equal(told.at(-1), archive.length)
  assert.deepEqual(await copier.find(id, never), index)
  assert.deepEqual((await copier.list(never)).found, [index])
  assert.ok(Buffer.concat(await Array.fromAsync(copier.read(index, never))).equals(archive))
  // The process is asked again after an archive came out of it.
  assert.equal(await copier.has(id, never), true)
  assert.ok(Buffer.concat(await Array.fromAsync(copier.read(index, never))).equals(archive))
  await copier.remove(id, never)
  assert.equal(await copier.find(id, never), null)
})

test('what was sent before is not sent again, and what a target says arrives with its code', async (t) => {
  const { path, key, copier, source, sent, options } = await stage(t)
  await copier.send(source, options)
  const names = piecesBelow(path)
  const again: number[] = []
  await copier[Symbol.asyncDispose]()
  await using second = openCopier({ access: { kind: 'folder', settings: { path } }, key })
  await second.send(source, { ...options, sent, onPiece: async (at) => void again.push(at) })
  assert.deepEqual([again, piecesBelow(path)], [[], names])
  writeFileSync(join(path, 'stackquay-key.age'), 'another')
  await assert.rejects(second.requireKey(never), targetError('key_changed'))
  renameSync(path, `${path}-away`)
  await assert.rejects(second.has(id, never), targetError('missing'))
  renameSync(`${path}-away`, path)
})

test('a source that breaks, a note that cannot be written and a cancel end it with their own reason', async (t) => {
  const stages = [await stage(t), await stage(t), await stage(t)]
  const broken = new Error('The disk does not answer.')
  const breaking: CopySource = {
    ...stages[0]!.source,
    async *read(from, to, signal) {
      let read = 0
      for await (const chunk of stages[0]!.source.read(from, to, signal)) {
        yield chunk
        read += chunk.length
        if (read > 12_000_000) throw broken
      }
    },
  }
  await assert.rejects(stages[0]!.copier.send(breaking, stages[0]!.options), (error) => error === broken)
  await assert.rejects(
    stages[1]!.copier.send(stages[1]!.source, {
      ...stages[1]!.options,
      onPiece: async () => Promise.reject(new Error('The database is read-only.')),
    }),
    /The database is read-only/,
  )
  const cancel = new AbortController()
  const reason = new Error('cancelled')
  const onPiece = async () => cancel.abort(reason)
  await assert.rejects(
    stages[2]!.copier.send(stages[2]!.source, { ...stages[2]!.options, onPiece, signal: cancel.signal }),
    (error) => error === reason,
  )
  for (const { copier, path } of stages) {
    assert.equal(existsSync(join(path, 'backups')), false, 'half a copy looks whole')
    await copier[Symbol.asyncDispose]()
  }
})

test('whoever stops reading holds nothing up, and damage is told after what was whole', async (t) => {
  const { path, copier, source, options } = await stage(t)
  const index = await copier.send(source, options)
  for await (const _ of copier.read(index, never)) break
  const [copy = ''] = readdirSync(join(path, 'pieces'))
  const piece = join(path, 'pieces', copy, '000001.age')
  const bytes = readFileSync(piece)
  bytes[bytes.length >> 1]! ^= 1
  writeFileSync(piece, bytes)
  const { key } = await kept
  await using other = openCopier({ access: { kind: 'folder', settings: { path } }, key })
  let received = 0
  await assert.rejects(async () => {
    for await (const chunk of other.read(index, never)) received += chunk.length
  }, targetError('damaged'))
  assert.ok(received <= 8 << 20, `${received} bytes`)
})

test('a process that is killed ends what it was asked for, and none is left after the last use', async (t) => {
  const { copier, source, options } = await stage(t)
  const [before] = copiers()
  assert.ok(before, 'no process of its own')
  const onPiece = async () => void process.kill(before, 'SIGKILL')
  await assert.rejects(copier.send(source, { ...options, onPiece }), /The process that copies ended \(SIGKILL\)/)
  await assert.rejects(copier.has(id, never), /has ended/)
  await copier[Symbol.asyncDispose]()
  await using another = openCopier({ access: { kind: 'folder', settings: { path: '/nowhere' } } })
  await assert.rejects(another.check(never), targetError('missing'))
  await another[Symbol.asyncDispose]()
  await delay(50)
  assert.deepEqual(copiers(), [])
})
