import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import {
  type CopyIndex,
  type CopySource,
  findCopy,
  listCopies,
  openSealer,
  type Piece,
  readCopy,
  removeAbandoned,
  removeCopy,
  requireKey,
  restoreKey,
  sendCopy,
  setUpKey,
  type Target,
  TargetError,
  withRetries,
} from '@stackquay/targets'
import { never, targetError } from './conformance.ts'
import { folderPlace } from './places.ts'

const sealer = openSealer()
after(() => sealer[Symbol.asyncDispose]())

const passphrase = 'correct horse battery staple'

/** Made once: a passphrase takes seconds on a busy machine, as it is meant to. */
const theKey = (async () => {
  await using place = await folderPlace()
  return (await setUpKey(await place.open(), sealer, passphrase, never)).key
})()

/** A target with a key, and an archive of three pieces that changes only when it is told to. */
async function stage(t: TestContext) {
  const place = await folderPlace()
  t.after(() => place[Symbol.asyncDispose]())
  const target = await place.open()
  const key = await theKey
  await restoreKey(target, key, never)
  const { identity } = await sealer.newKey()
  const archive = randomBytes(17_000_000)
  const source: CopySource = {
    id: 'bak_0123456789',
    size: archive.length,
    async *read(from, to) {
      for (let at = from; at < to; at += 100_000) yield archive.subarray(at, Math.min(to, at + 100_000))
    },
    manifest: { project: { slug: 'shop' } },
    identity,
    instance: 'ins_0123456789',
    bySchedule: true,
  }
  const sent = new Map<number, Piece>()
  const put: string[] = []
  const watched: Target = {
    ...target,
    put: (name, bytes, signal) => {
      put.push(name)
      return target.put(name, bytes, signal)
    },
  }
  const options = {
    target: watched,
    key,
    sealer,
    sent,
    onFirst: async () => undefined,
    onPiece: async (at: number, piece: Piece) => void sent.set(at, piece),
    onBytes: () => undefined,
    now: () => new Date(),
    signal: never,
  }
  return { place, target, key, archive, source, sent, put, options }
}

const contentOf = async (index: CopyIndex, options: Parameters<typeof readCopy>[1]) =>
  Buffer.concat(await Array.fromAsync(readCopy(index, options)))

test('a copy comes back on an instance that has nothing but the target and the passphrase', async (t) => {
  const { place, archive, source, options } = await stage(t)
  await sendCopy(source, options)
  const target = await place.open()
  const { key, isNew, recoveryPassphrase } = await setUpKey(target, sealer, passphrase, never)
  assert.deepEqual([isNew, recoveryPassphrase], [false, null])
  const [index, ...more] = await listCopies({ target, key, sealer, signal: never }, assert.fail)
  assert.equal(more.length, 0)
  assert.deepEqual([index?.id, index?.identity, index?.manifest], [source.id, source.identity, source.manifest])
  assert.ok((await contentOf(index!, { target, key, sealer, signal: never })).equals(archive))
})

test('nothing on the target can be read: no name, no content', async (t) => {
  const { place, archive, source, options } = await stage(t)
  await sendCopy(source, options)
  const names = readdirSync(place.path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  assert.equal(names.length, 5)
  for (const { name, parentPath } of names) {
    const bytes = readFileSync(join(parentPath, name))
    assert.equal(bytes.subarray(0, 21).toString(), 'age-encryption.org/v1')
    for (const text of ['shop', source.id, source.identity!, passphrase]) {
      assert.ok(!bytes.includes(text), `${text} is in ${name}`)
      assert.ok(!join(parentPath, name).includes(text), `${text} is a name`)
    }
    assert.ok(!bytes.includes(archive.subarray(1000, 1032)))
  }
})

test('a copy that was interrupted goes on where it was, and one that is whole sends the index alone', async (t) => {
  const { place, archive, source, sent, put, options } = await stage(t)
  const broken: Target = {
    ...options.target,
    put: async (name, bytes, signal) => {
      if (name.endsWith('000002.age')) throw new TargetError('full', 'There is no room.')
      await options.target.put(name, bytes, signal)
    },
  }
  await assert.rejects(sendCopy(source, { ...options, target: broken }), targetError('full'))
  assert.deepEqual([...sent.keys()], [0, 1])
  assert.deepEqual(await listCopies(options, assert.fail), [], 'a copy that is not whole is listed')
  assert.deepEqual(put.map(short), ['000000.age', '000001.age'])

  put.length = 0
  await sendCopy(source, options)
  assert.deepEqual(put.map(short), ['000002.age', 'backups'])
  put.length = 0
  await sendCopy(source, options)
  assert.deepEqual(put.map(short), ['backups'])

  // What is gone meanwhile, and what is another one in the archive, is sent again.
  const [copy] = readdirSync(join(place.path, 'pieces'))
  rmSync(join(place.path, 'pieces', copy!, '000001.age'))
  archive[16_900_000]! ^= 1
  put.length = 0
  const index = await sendCopy(source, options)
  assert.deepEqual(put.map(short), ['000001.age', '000002.age', 'backups'])
  assert.ok((await contentOf(index, options)).equals(archive))
})

function short(name: string): string {
  return name.startsWith('backups/') ? 'backups' : name.slice(name.lastIndexOf('/') + 1)
}

test('a shorter archive under the same id leaves no piece of the longer one', async (t) => {
  const { place, archive, source, options } = await stage(t)
  await sendCopy(source, options)
  const index = await sendCopy({ ...source, size: 9_000_000 }, options)
  assert.equal((await options.target.list(`pieces/${readdirSync(join(place.path, 'pieces'))[0]}`, never)).size, 2)
  assert.ok((await contentOf(index, options)).equals(archive.subarray(0, 9_000_000)))
  await removeCopy(source.id, options)
  assert.deepEqual(await listCopies(options, assert.fail), [])
  const left = readdirSync(place.path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  assert.deepEqual(
    left.map(({ name }) => name),
    ['stackquay-key.age'],
  )
})

test('what a lost instance left goes after a week by the clock of the target, whatever else lies there', async (t) => {
  const { place, target, source, options } = await stage(t)
  const pieces = join(place.path, 'pieces')
  const days = 24 * 3600
  // The clock of the target is years behind.
  const now = 1_000_000_000
  const age = (folder: string, seconds: number) => {
    for (const name of readdirSync(join(pieces, folder)))
      utimesSync(join(pieces, folder, name), now - seconds, now - seconds)
  }
  const names = { old: 'a'.repeat(40), young: 'b'.repeat(40), whole: 'c'.repeat(40), foreign: 'something-else' }
  for (const name of Object.values(names))
    for (const piece of ['000000.age', '000001.age', '000002.age.0123abcd-new'])
      await target.put(`pieces/${name}/${piece}`, Buffer.from('x'), never)
  await target.put(`backups/${names.whole}.age`, Buffer.from('an index that nobody here can read'), never)
  await sendCopy({ ...source, size: 1_000_000 }, options)
  const mine = readdirSync(pieces).find((name) => !Object.values(names).includes(name))!
  for (const name of [names.old, names.whole, names.foreign]) age(name, 8 * days)
  age(names.young, 6 * days)
  age(mine, 0)
  assert.equal(await removeAbandoned('bak_none000000', options), 0)
  assert.equal(await removeAbandoned(source.id, options), 1)
  assert.deepEqual(readdirSync(pieces).sort(), [mine, names.young, names.whole, names.foreign].sort())
  assert.equal(await removeAbandoned(source.id, options), 0)
})

test('a copy whose earlier pieces went meanwhile is no success', async (t) => {
  const { place, source, options } = await stage(t)
  await sendCopy(source, options)
  rmSync(join(place.path, 'backups'), { recursive: true })
  const [copy] = readdirSync(join(place.path, 'pieces'))
  let looks = 0
  const losing: Target = {
    ...options.target,
    list: async (folder, signal) => {
      looks += 1
      if (looks === 2) rmSync(join(place.path, 'pieces', copy!, '000001.age'))
      return options.target.list(folder, signal)
    },
  }
  await assert.rejects(sendCopy(source, { ...options, target: losing }), targetError('not_kept'))
  assert.deepEqual(await listCopies(options, assert.fail), [])
  const index = await sendCopy(source, options)
  assert.equal(index.pieces.length, 3)
})

test('what is not on the target as it was written is no success', async (t) => {
  const { source, options } = await stage(t)
  const liar: Target = {
    ...options.target,
    put: async (name, bytes, signal) => {
      const flipped = Buffer.from(bytes)
      flipped[bytes.length >> 1]! ^= 1
      await options.target.put(name, flipped, signal)
    },
  }
  await assert.rejects(sendCopy(source, { ...options, target: liar }), targetError('not_kept'))
  const loser: Target = { ...options.target, put: async () => {} }
  await assert.rejects(sendCopy(source, { ...options, target: loser }), targetError('not_kept'))
})

test('a copy that somebody changed on the target is told, whatever it is', async (t) => {
  const { place, source, options } = await stage(t)
  const index = await sendCopy(source, options)
  const other = await sendCopy({ ...source, id: 'bak_9876543210', size: 9_000_000 }, options)
  const [folders, indexes] = [join(place.path, 'pieces'), join(place.path, 'backups')]
  const folderOf = (id: CopyIndex) =>
    readdirSync(folders).find((name) => readdirSync(join(folders, name)).length === id.pieces.length)!
  const [mine, others] = [folderOf(index), folderOf(other)]
  const damages: [string, () => void][] = [
    ['a bit of a piece', () => flip(join(folders, mine, '000001.age'), 5_000_000)],
    ['a piece that is cut', () => cut(join(folders, mine, '000001.age'))],
    ['a longer piece', () => lengthen(join(folders, mine, '000001.age'))],
    ['a piece of another copy', () => exchange(join(folders, mine, '000000.age'), join(folders, others, '000000.age'))],
    ['a missing piece', () => rmSync(join(folders, mine, '000002.age'))],
  ]
  for (const [what, damage] of damages) {
    const saved = readdirSync(join(folders, mine)).map(
      (name) => [name, readFileSync(join(folders, mine, name))] as const,
    )
    damage()
    await assert.rejects(contentOf(index, options), targetError('damaged'), what)
    for (const [name, bytes] of saved) writeFileSync(join(folders, mine, name), bytes)
  }
  // The index of one by the name of the other, and one that is cut.
  writeFileSync(join(indexes, `${mine}.age`), readFileSync(join(indexes, `${others}.age`)))
  const unreadable: string[] = []
  const found = await listCopies(options, (error) => unreadable.push(error.message))
  assert.deepEqual(
    found.map(({ id }) => id),
    ['bak_9876543210'],
  )
  assert.match(unreadable[0] ?? '', /is that of another backup/)
  await assert.rejects(findCopy(source.id, options), targetError('damaged'))
  cut(join(indexes, `${mine}.age`))
  await assert.rejects(findCopy(source.id, options), targetError('damaged'))
})

function flip(file: string, at: number): void {
  const bytes = readFileSync(file)
  bytes[at]! ^= 1
  writeFileSync(file, bytes)
}
function cut(file: string): void {
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.subarray(0, bytes.length >> 1))
}
function lengthen(file: string): void {
  writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.from('more')]))
}
function exchange(file: string, other: string): void {
  writeFileSync(file, readFileSync(other))
}

test('a key opens with its passphrase alone, and is never replaced', async (t) => {
  const { target, key } = await stage(t)
  await assert.rejects(setUpKey(target, sealer, 'wrong', never), targetError('locked'))
  await assert.rejects(setUpKey(target, sealer, null, never), targetError('locked'))
  await requireKey(target, key, never)
  await target.remove('stackquay-key.age', never)
  await assert.rejects(requireKey(target, key, never), targetError('key_changed'))
  await restoreKey(target, key, never)
  await requireKey(target, key, never)
  await target.put('stackquay-key.age', Buffer.from('another'), never)
  await restoreKey(target, key, never)
  await assert.rejects(requireKey(target, key, never), targetError('key_changed'))
  await assert.rejects(setUpKey(target, sealer, passphrase, never), targetError('damaged'))
  // It asks for 4 GiB of memory.
  await target.put(
    'stackquay-key.age',
    Buffer.from('age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA 22\nx\n--- x\n'),
    never,
  )
  await assert.rejects(setUpKey(target, sealer, passphrase, never), targetError('damaged'))
})

test('a generated passphrase is told once, has 160 bits, and opens the key', async () => {
  await using place = await folderPlace()
  const target = await place.open()
  const made = await setUpKey(target, sealer, null, never)
  assert.match(made.recoveryPassphrase ?? '', /^([0-9a-hjkmnp-tv-z]{4}-){7}[0-9a-hjkmnp-tv-z]{4}$/)
  const opened = await setUpKey(target, sealer, made.recoveryPassphrase, never)
  assert.deepEqual(opened.key, made.key)
})

test('a target without room is told before anything is sent', async (t) => {
  const { source, put, options } = await stage(t)
  const small: Target = { ...options.target, freeBytes: async () => 16_000_000 }
  await assert.rejects(sendCopy(source, { ...options, target: small }), targetError('full'))
  assert.deepEqual(put, [])
})

test('what fails for a while is tried again, all else ends at once, and a cancel ends the pause', async () => {
  await using place = await folderPlace()
  const real = await place.open()
  let calls = 0
  const failing = (code: 'unreachable' | 'refused', times: number): Target => ({
    ...real,
    put: async (...given) => {
      calls += 1
      if (calls <= times) throw new TargetError(code, 'No.')
      await real.put(...given)
    },
  })
  const told: number[] = []
  const onRetry = (_: TargetError, pauseMs: number) => void told.push(pauseMs)
  await withRetries(failing('unreachable', 2), { pauses: [10, 20, 40], onRetry }).put('a.age', Buffer.from('a'), never)
  assert.equal(calls, 3)
  assert.equal((await real.get('a.age', 10, never))?.toString(), 'a')
  assert.ok(told.length === 2 && told[0]! <= 12.5 && told[1]! >= 15)

  calls = 0
  await assert.rejects(
    withRetries(failing('unreachable', 9), { pauses: [1, 1] }).put('b.age', Buffer.from('b'), never),
    targetError('unreachable'),
  )
  assert.equal(calls, 3)
  calls = 0
  await assert.rejects(withRetries(failing('refused', 9)).put('b.age', Buffer.from('b'), never), targetError('refused'))
  assert.equal(calls, 1)
  const reason = new Error('cancelled')
  const cancel = new AbortController()
  const waiting = withRetries(failing('unreachable', 99), { pauses: [60_000] }).put(
    'c.age',
    Buffer.from('c'),
    cancel.signal,
  )
  setTimeout(() => cancel.abort(reason), 20)
  await assert.rejects(waiting, (error) => error === reason)
})
