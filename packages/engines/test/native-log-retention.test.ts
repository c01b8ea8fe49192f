import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Engine, LogLine, LogOptions } from '@stackquay/engine-api'
import { type LogFiles, logFilesIn } from '../src/native/log-files.ts'
import { punchHole } from '../src/native/log-hole.ts'
import { encodeEntry } from '../src/native/log-index.ts'
import { recordLog } from '../src/native/log-recorder.ts'
import { createLogKeeper } from '../src/native/log-retention.ts'
import { type NativeHarness, nativeHarness } from './native-harness.ts'

const MB = 1024 * 1024
const limits = { maxBytes: 2 * MB, maxDays: 14 }
const project = 'retention'

describe('retention of logs', () => {
  let harness: NativeHarness
  let engine: Engine
  before(async () => {
    harness = await nativeHarness()
    engine = await harness.open()
  })
  after(() => harness.close())

  const now = () => new Date()
  const signal = new AbortController().signal
  const directoryOf = (workload: string) => join(harness.options.home, 'logs', project, workload)
  const read = (workload: string, options: LogOptions = {}): Promise<LogLine[]> =>
    Array.fromAsync(engine.logs({ project, workload }, options, signal))
  /** Numbered lines of 100 bytes. */
  const lines = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) => `${String(from + at).padEnd(99, '.')}\n`).join('')
  const numbers = (read: readonly LogLine[]) => read.map((line) => Number.parseInt(line.text, 10))

  async function made(workload: string, log: string, out: string, err = ''): Promise<LogFiles> {
    const files = logFilesIn(directoryOf(workload), log)
    await mkdir(files.directory, { recursive: true })
    await writeFile(files.out, out)
    await writeFile(files.err, err)
    return files
  }

  /** Every line is whole, none is a hole, and only the oldest are missing. */
  function assertNewest(found: readonly LogLine[], written: number): void {
    const all = numbers(found)
    assert.ok(found.every((line) => line.text.length === 99 && !line.text.includes('\0')))
    assert.equal(all.at(-1), written - 1)
    assert.deepEqual(
      all,
      Array.from({ length: all.length }, (_, at) => written - all.length + at),
    )
  }

  test('a program that prints without end loses its oldest lines alone, and gives their space back', async () => {
    const files = await made('endless', '000000001', '')
    const logs = createLogKeeper(limits, now)
    const recorder = await recordLog(files, { now, logs })
    const file = await open(files.out, 'a')
    let cursor = ''
    for (let part = 0; part < 40; part++) {
      await file.write(lines(part * 2000, 2000))
      await recorder.sample()
      if (part === 30) cursor = (await read('endless', { tail: 1 }))[0]?.cursor ?? ''
    }
    await recorder.close()
    await logs.tidy(files.directory)
    await file.close()
    const found = await read('endless')
    assertNewest(found, 80_000)
    assert.ok(found.length * 100 <= limits.maxBytes)
    assert.ok(found.length * 100 > limits.maxBytes / 2, `${found.length} lines are left`)
    const { size, blocks } = await stat(files.out)
    assert.equal(size, 8_000_000, 'positions are offsets in the file')
    assert.ok(blocks * 512 < limits.maxBytes + MB, `${blocks * 512} bytes are still taken`)
    assert.deepEqual(numbers(await read('endless', { after: cursor }))[0], 62_000)
  })

  test('of several runs the first lines of the first go, of both streams up to the same time', async () => {
    const day = Date.now() - 60_000
    for (const [at, log] of ['00000000a', '00000000b', '00000000c'].entries()) {
      const files = await made('runs', log, lines(at * 10_000, 5000), lines(at * 10_000 + 5000, 5000))
      const entries = Array.from({ length: 11 }, (_, part) =>
        encodeEntry(part === 0 ? 0 : day + at * 1000 + part, { out: part * 50_000, err: part * 50_000 }),
      )
      await writeFile(files.index, Buffer.concat(entries))
    }
    await createLogKeeper({ ...limits, maxBytes: 2.5 * MB }, now).tidy(directoryOf('runs'))
    const found = await read('runs')
    const first = (from: number) => numbers(found).filter((number) => number >= from && number < from + 5000)
    assert.equal(first(10_000).length + first(15_000).length, 10_000, 'the second run is whole')
    const [out, err] = [first(0), first(5000)]
    assert.ok(out.length > 0 && out.length < 5000)
    assert.equal(out.length, err.length)
    assert.equal(out[0], 5000 - out.length)
  })

  test('a run that ended too long ago goes, and of one that goes on the lines that are too old', async () => {
    const old = new Date(Date.now() - 15 * 24 * 3600_000)
    const ended = await made('age', '000000001', lines(0, 10))
    await utimes(ended.out, old, old)
    await utimes(ended.err, old, old)
    const live = await made('age', old.getTime().toString(36).padStart(9, '0'), lines(10, 20))
    const index = [
      encodeEntry(0, { out: 0, err: 0 }),
      encodeEntry(old.getTime(), { out: 1000, err: 0 }),
      encodeEntry(Date.now(), { out: 2000, err: 0 }),
    ]
    await writeFile(live.index, Buffer.concat(index))
    const logs = createLogKeeper(limits, now)
    const recorder = await recordLog(live, { now, logs })
    await logs.tidyAll(join(harness.options.home, 'logs'))
    assert.deepEqual(
      numbers(await read('age')),
      Array.from({ length: 10 }, (_, at) => at + 20),
    )
    assert.deepEqual((await readdir(directoryOf('age'))).length, 3)
    await recorder.close()
  })

  test('killed between noting where the log begins and making the hole, the next one makes it', async () => {
    const files = await made('killed', '000000001', lines(0, 50_000))
    const source = `
      const { recordLog } = await import(${JSON.stringify(urlOf('log-recorder.ts'))})
      const { createLogKeeper } = await import(${JSON.stringify(urlOf('log-retention.ts'))})
      const now = () => new Date()
      const punch = () => { console.log('noted'); return new Promise(() => {}) }
      const logs = createLogKeeper(${JSON.stringify(limits)}, now, { punch })
      const recorder = await recordLog(${JSON.stringify(files)}, { now, logs })
      setInterval(() => recorder.sample(), 1000)
      await recorder.sample()`
    const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'exit')
    const kept = await read('killed')
    assertNewest(kept, 50_000)
    assert.ok(kept.length < 21_000)
    assert.ok((await stat(files.out)).blocks * 512 > 4 * MB, 'there is no hole yet')

    const logs = createLogKeeper(limits, now)
    const recorder = await recordLog(files, { now, logs })
    await recorder.sample()
    await logs.tidy(files.directory)
    await recorder.close()
    assert.deepEqual(numbers(await read('killed')), numbers(kept))
    assert.ok((await stat(files.out)).blocks * 512 < 3 * MB)
  })

  test('a reader that is inside what is dropped goes on behind the hole, at the beginning of a line', async () => {
    const files = await made('inside', '000000001', lines(0, 40_000))
    await writeFile(files.index, encodeEntry(0, { out: 0, err: 0 }))
    const found: LogLine[] = []
    let isDropped = false
    for await (const batch of engine.logBatches({ project, workload: 'inside' }, {}, signal)) {
      found.push(...batch.lines)
      if (isDropped) continue
      isDropped = true
      await createLogKeeper(limits, now).tidy(files.directory)
    }
    const all = numbers(found)
    assert.ok(found.every((line) => line.text.length === 99 && !line.text.includes('\0')))
    assert.equal(all.at(-1), 39_999)
    assert.ok(all.length < 35_000, 'a part was dropped')
    assert.deepEqual(
      all,
      all.toSorted((a, b) => a - b),
    )
    assert.equal(new Set(all).size, all.length)
  })

  test('where holes cannot be made, what is over is not shown, and all goes once it is as much again', async () => {
    const files = await made('flat', '000000001', lines(0, 30_000))
    const logs = createLogKeeper(limits, now, { punch: async () => false })
    const recorder = await recordLog(files, { now, logs })
    await recorder.sample()
    await logs.tidy(files.directory)
    const kept = await read('flat')
    assertNewest(kept, 30_000)
    assert.ok(kept.length * 100 <= limits.maxBytes)
    const file = await open(files.out, 'a')
    await file.write(lines(30_000, 30_000))
    await recorder.sample()
    await logs.tidy(files.directory)
    await file.write(lines(60_000, 5))
    await recorder.close()
    await file.close()
    const rest = await read('flat', { after: kept.at(-1)?.cursor ?? '' })
    assert.match(rest[0]?.text ?? '', /^\[stackquay\] This log was longer than is kept here/)
    assert.deepEqual(numbers(rest.slice(1)), [60_000, 60_001, 60_002, 60_003, 60_004])
    assert.ok((await stat(files.out)).size < 1024)
  })

  test('lines between two times are found by the index, and pages backwards fit together', async () => {
    const files = await made('times', '000000001', '')
    const out = await open(files.out, 'a')
    const began = Date.parse('2026-01-02T03:00:00.000Z')
    const entries = [encodeEntry(0, { out: 0, err: 0 })]
    for (let minute = 0; minute < 60; minute++) {
      await out.write(lines(minute * 10, 10))
      entries.push(encodeEntry(began + minute * 60_000, { out: (minute + 1) * 1000, err: 0 }))
    }
    await out.close()
    await writeFile(files.index, Buffer.concat(entries))
    const at = (minute: number) => new Date(began + minute * 60_000).toISOString()
    const expected = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)
    assert.deepEqual(numbers(await read('times', { since: at(50) })), expected(500, 600))
    assert.deepEqual(numbers(await read('times', { until: at(4) })), expected(0, 50))
    assert.deepEqual(numbers(await read('times', { since: at(5), until: at(6) })), expected(50, 70))
    assert.deepEqual(numbers(await read('times', { until: at(29), tail: 15 })), expected(285, 300))
    assert.deepEqual(numbers(await read('times', { since: at(29), until: at(29), tail: 15 })), expected(290, 300))
    const [line] = await read('times', { until: at(29), tail: 1 })
    assert.deepEqual(numbers(await read('times', { upTo: line?.cursor ?? '', tail: 3 })), expected(297, 300))
  })

  test('a hole in a file leaves what is behind it where it is', async () => {
    const files = await made('hole', '000000001', 'x'.repeat(100_000))
    assert.equal(await punchHole(files.out, 50_000), process.platform === 'linux')
    assert.equal(await punchHole(join(files.directory, 'nothing'), 10), false)
  })
})

function urlOf(file: string): string {
  return pathToFileURL(join(import.meta.dirname, '../src/native', file)).href
}
