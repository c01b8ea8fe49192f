import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { levelOf } from '@stackquay/domain/log-level'
import type { LogBatch } from '@stackquay/engine-api'
import { createNativeEngine, oneAccount } from '@stackquay/engines'
import { createChunkMemory } from '../src/logs/log-chunks.ts'
import { levelSigns } from '../src/logs/log-level-signs.ts'
import { jsonOf, picked, textOf } from '../src/logs/log-slices.ts'

const project = 'prj_encode'
const shape = { start: '[', between: ',', end: ']' }
const inLines = { start: '', between: '\n', end: '\n' }
const position = { time: '2026-01-02T03:04:05.000Z', cursors: { 'a-web': '0.1.2', worker: '0.3.4' } }

test('what is made of bytes equals what is made of lines, whatever was printed', async (t) => {
  const random = randomFrom(20_260_101)
  for (const [round, chunks] of [plainChunks, allChunks, brokenChunks].entries()) {
    const batches = await batchesOf(t, bytesOf(random, chunks), bytesOf(random, chunks))
    assert.ok(batches.some(({ columns }) => columns !== null))
    for (const batch of batches) assertSame(batch, `round ${round}`)
    const some = batches.map((batch) =>
      picked(
        batch,
        batch.lines.filter((_, at) => at % 3 === 1),
      ),
    )
    for (const batch of some) assertSame(batch, `some of round ${round}`)
  }
})

test('positions beyond what fits into 32 bits are written exactly', async (t) => {
  const [batch] = await batchesOf(t, Buffer.from('one\ntwo\n'), Buffer.from('three\n'))
  for (const add of [2 ** 31 - 1, 2 ** 31, 2 ** 32, 1e9 - 4, 1e9 - 3, 1e12, 1_000_000_000_001, 2 ** 40 + 7]) {
    const columns = { ...batch!.columns!, outs: batch!.columns!.outs.map((out) => out + add) }
    const lines = batch!.lines.map((line, at) => ({
      ...line,
      cursor: `${columns.log}.${columns.outs[at]}.${columns.errs[at]}`,
    }))
    assertSame({ lines, columns }, `${add}`)
  }
})

test('no line that tells a level is taken for one that tells none', () => {
  const random = randomFrom(7)
  let levels = 0
  for (let at = 0; at < 60_000; at++) {
    const count = one(random, [1, 2, 3, 4, 6, 12])
    const text = Array.from({ length: count }, () => one(random, levelChunks)).join('')
    const bytes = Buffer.from(text)
    const isTold = levelOf(text) !== null
    if (isTold) levels += 1
    const front = one(random, ['', 'ERROR ', 'before\n', '[in'])
    const latin1 = `${front}${bytes.toString('latin1')}\nbehind`
    const isTaken = levelSigns(latin1)(front.length, front.length + bytes.length)
    assert.ok(isTaken || !isTold, JSON.stringify(text))
  }
  assert.ok(levels > 5000, `${levels} lines told a level`)
})

test('memory of chunks is used again when it is given back, by one at a time, and no other memory is', () => {
  const memory = createChunkMemory()
  const first = memory.take()
  const second = memory.take()
  assert.notEqual(first.buffer, second.buffer)
  memory.giveBack(first.subarray(0, 100))
  memory.giveBack(first)
  memory.giveBack(Buffer.alloc(first.length))
  assert.equal(memory.take().buffer, first.buffer)
  for (const taken of [memory.take(), memory.take()])
    assert.ok(taken.buffer !== first.buffer && taken.buffer !== second.buffer)
})

test('a chunk made in used memory is the same as one in new memory', async (t) => {
  const random = randomFrom(5)
  const batches = await batchesOf(t, bytesOf(random, allChunks), bytesOf(random, allChunks))
  const memory = createChunkMemory()
  for (const batch of batches) {
    const slices = [{ workload: 'web', batch, from: 0, to: batch.columns!.length }]
    const chunks = jsonOf(slices, position, shape, memory)
    assert.ok(Buffer.concat(chunks).equals(Buffer.concat(jsonOf(slices, position, shape))))
    for (const chunk of chunks) memory.giveBack(chunk)
  }
})

function assertSame(batch: LogBatch, what: string): void {
  const { columns, lines } = batch
  assert.equal(columns?.length, lines.length, what)
  const half = lines.length >> 1
  const slices = (one: LogBatch) => [
    { workload: 'web', batch: one, from: 0, to: half },
    { workload: 'web', batch: one, from: half, to: lines.length },
  ]
  const slow: LogBatch = { lines, columns: null }
  const items = (one: LogBatch) => jsonOf(slices(one), position, shape).map(inside).join()
  assert.ok(items(batch) === items(slow), what)
  const texts = (one: LogBatch) => Buffer.concat(textOf(slices(one), inLines)).toString()
  assert.ok(texts(batch) === texts(slow), what)
}

function inside(chunk: Buffer): string {
  const text = chunk.toString()
  JSON.parse(text)
  return text.slice(1, -1)
}

/** Both streams as if a program had printed them, and as the engine reads them. */
async function batchesOf(t: TestContext, out: Buffer, err: Buffer): Promise<LogBatch[]> {
  const root = await mkdtemp(join(tmpdir(), 'stackquay-encode-'))
  await chmod(root, 0o711)
  const home = join(root, 'home')
  const runAs = process.getuid?.() === 0 ? { uid: 48_211, gid: 48_211 } : null
  const engine = await createNativeEngine({ home, accounts: oneAccount(runAs), bundled: [] })
  t.after(async () => {
    await engine.close()
    await rm(root, { recursive: true, force: true })
  })
  const directory = join(home, 'logs', project, 'web')
  await mkdir(directory, { recursive: true })
  const log = join(directory, Date.now().toString(36).padStart(9, '0'))
  // Some times, so that both streams are mixed, and neighbours differ.
  const entries = Array.from({ length: 41 }, (_, at) => {
    const entry = Buffer.alloc(16)
    if (at > 0) entry.writeUIntBE(1_790_000_000_000 + at * 7, 0, 6)
    entry.writeUIntBE(Math.floor((out.length * at) / 40), 6, 5)
    entry.writeUIntBE(Math.floor((err.length * at) / 40), 11, 5)
    return entry
  })
  await writeFile(`${log}.out`, out)
  await writeFile(`${log}.err`, err)
  await writeFile(`${log}.idx`, Buffer.concat(entries))
  const { signal } = new AbortController()
  return Array.fromAsync(engine.logBatches({ project, workload: 'web' }, {}, signal))
}

const plainChunks = ['a', 'served a request', '=', 'level=warn ', 'ERROR ', 'ä', '🙂', ' ', '\n', '\n', '\n\n']
const allChunks = [
  ...plainChunks,
  '"',
  '\\',
  '\r\n',
  '\r',
  '\t',
  '\u0000',
  '\u001b[31m',
  '\u007f',
  '\u2028',
  '{"level":30,',
]
const brokenChunks = [...allChunks, Buffer.from([0xff]), Buffer.from([0xe2, 0x82]), Buffer.from([0xed, 0xa0, 0x80])]
const levelChunks = [
  ...[
    'E0102 ',
    '12:M ',
    '12:M 02 Jan 2026 03:04:05.678 # ',
    '{"level":"warn"',
    '{',
    ',"severity": 3',
    'level="',
    'lvl=',
  ],
  ...[
    'error',
    'ERR',
    'ERROR',
    'LOG:',
    'npm ',
    'PHP ',
    'Fatal error',
    'Parse error',
    'warn',
    'Warning',
    ':',
    '!',
    '[',
    ']',
  ],
  ...[
    '<',
    '>',
    '=',
    'TypeError',
    'java.lang.IOException',
    'Traceback (most recent call last)',
    'panic: ',
    "thread 'x' panicked",
  ],
  ...[
    'Uncaught ',
    'Unhandled ',
    'severity=',
    'loglevel=debug',
    'INFO',
    'Info',
    'notice',
    '\u001b[31m',
    '\u001b[0m',
    'ü',
    '🙂',
  ],
  ...[' ', ' ', ' ', '-', '|', '(', 'x'.repeat(90), '€'.repeat(80), '1', '\u00a0', '\u2028'],
]

function bytesOf(random: () => number, chunks: readonly (string | Buffer)[]): Buffer {
  const all: Buffer[] = []
  for (let at = 0; at < 12_000; at++) all.push(Buffer.from(one(random, chunks)))
  for (const length of [65_535, 65_536, 65_537, 70_000])
    all.push(Buffer.from('\n'), Buffer.from('ü'.repeat(length / 2)))
  all.push(Buffer.from(`\n${'"'.repeat(64 * 1024)}\n`), Buffer.from('the end without an end'))
  return Buffer.concat(all)
}

function one<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)]!
}

/** The same numbers in each run. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
