import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { LogLine } from '@stackquay/engine-api'
import { type Conversation, converse } from '@stackquay/engine-api/conformance-conversation'
import type { LogFiles } from '../src/native/log-files.ts'
import { decodeIndex } from '../src/native/log-index.ts'
import { LONGEST_LINE } from '../src/native/log-lines.ts'
import { recordLog } from '../src/native/log-recorder.ts'
import { createLogKeeper, usualLogLimits } from '../src/native/log-retention.ts'
import { KEEP_RUNS } from '../src/native/tidy-logs.ts'
import { type NativeHarness, nativeHarness } from './native-harness.ts'

describe('logs of the native engine', () => {
  let harness: NativeHarness
  let talk: Conversation
  before(async () => {
    harness = await nativeHarness()
    talk = await converse(harness, 'secret')
  })
  after(async () => {
    await talk.end()
    await harness.close()
  })

  const ref = (workload: string) => ({ project: talk.project, workload })
  const read = (workload: string, options: { after?: string; tail?: number } = {}) =>
    Array.fromAsync(talk.engine.logs(ref(workload), options, talk.signal))
  const texts = (lines: readonly LogLine[]) => lines.map((line) => line.text)

  const keeping = () => {
    const now = () => new Date()
    return { now, logs: createLogKeeper(usualLogLimits, now) }
  }

  /** Writes a log as if a program had: for what a real program would take long to write. */
  async function written(workload: string, id: string, out: string | Buffer, err = ''): Promise<LogFiles> {
    const directory = join(harness.options.home, 'logs', talk.project, workload)
    await mkdir(directory, { recursive: true })
    const files = {
      directory,
      log: id,
      out: join(directory, `${id}.out`),
      err: join(directory, `${id}.err`),
      index: join(directory, `${id}.idx`),
    }
    await writeFile(files.out, out)
    await writeFile(files.err, err)
    return files
  }

  test('stdout and stderr come in the order in which they were written', async () => {
    const source = `const wait = (ms) => new Promise((done) => setTimeout(done, ms));
      (async () => { for (let n = 0; n < 6; n++) { console[n % 2 ? 'error' : 'log']('n' + n); await wait(150) } })()`
    const workload = await talk.workload('order', { run: harness.script(source), health: { kind: 'none' } })
    await talk.start(workload)
    await talk.line(workload.ref, (line) => line.text === 'n5')
    const lines = await read('order')
    assert.deepEqual(texts(lines), ['n0', 'n1', 'n2', 'n3', 'n4', 'n5'])
    assert.deepEqual(
      lines.map((line) => line.stream),
      ['stdout', 'stderr', 'stdout', 'stderr', 'stdout', 'stderr'],
    )
    const gap = Date.parse(lines[5]?.time ?? '') - Date.parse(lines[0]?.time ?? '')
    assert.ok(gap >= 600 && gap < 5000, `the times must be those of writing, but are ${gap} ms apart`)
    await talk.remove(workload)
  })

  test('a last line without an end appears when the run has ended, to followers too', async () => {
    const run = harness.script("process.stdout.write('first\\nprompt> '); setTimeout(() => {}, 200)")
    const workload = await talk.workload('prompt', { run, health: { kind: 'none' } })
    await talk.start(workload)
    assert.equal((await talk.line(workload.ref, (line) => line.text.startsWith('prompt'))).text, 'prompt> ')
    assert.deepEqual(texts(await read('prompt')), ['first', 'prompt> '])
    await talk.remove(workload)
  })

  test('characters are whole wherever reading is cut, and endless lines are cut between characters', async () => {
    const long = '🦆é'.repeat(60_000)
    await written('wide', '000000001', `${long}\nü\r\n\xff\n`)
    const lines = await read('wide')
    assert.equal(texts(lines).slice(0, -2).join(''), long)
    assert.ok(lines.every((line) => Buffer.byteLength(line.text) <= LONGEST_LINE))
    assert.deepEqual(texts(lines).slice(-2), ['ü', 'ÿ'])
  })

  test('bytes that are not UTF-8 are replaced', async () => {
    await written('binary', '000000001', Buffer.from([0x61, 0xff, 0xfe, 0x0a, 0x62, 0x0a]))
    assert.deepEqual(texts(await read('binary')), ['a\ufffd\ufffd', 'b'])
  })

  test('reading goes on after every cursor without loss or repetition, across runs and both streams', async () => {
    await written('resume', '000000001', 'a1\na2\n', 'e1\n')
    await written('resume', '000000002', 'b1\n', 'f1\nf2\n')
    const all = await read('resume')
    assert.equal(all.length, 6)
    for (const [at, line] of all.entries())
      assert.deepEqual(texts(await read('resume', { after: line.cursor })), texts(all.slice(at + 1)))
    for (const tail of [0, 1, 3, 4, 6, 99])
      assert.deepEqual(texts(await read('resume', { tail })), texts(tail === 0 ? [] : all.slice(-tail)))
    const cursors = all.map((line) => line.cursor)
    assert.equal(new Set(cursors).size, cursors.length)
    assert.deepEqual(texts(await read('resume', { after: 'nonsense' })), texts(all))
  })

  test('a log that was emptied by a process that was killed before noting it goes on', async () => {
    const files = await written('cut', '000000001', 'a\nb\n')
    const first = await recordLog(files, keeping())
    await first.close()
    const cursor = (await read('cut')).at(-1)?.cursor ?? ''
    await writeFile(files.out, 'c\n')
    const second = await recordLog(files, keeping())
    await second.close()
    assert.deepEqual(texts(await read('cut', { after: cursor })), ['c'])
  })

  test('of very many runs the newest are kept', async () => {
    for (let run = 0; run < KEEP_RUNS + 5; run++)
      await written('many', (run + 1).toString(36).padStart(9, '0'), `run ${run}\n`)
    const workload = await talk.workload('many', { run: harness.programs.exit(0, ['hello']), health: { kind: 'none' } })
    await talk.start(workload).catch(() => {})
    await talk.line(workload.ref, (line) => line.text === 'hello')
    const lines = texts(await read('many'))
    assert.deepEqual([lines[0], lines.length], ['run 5', KEEP_RUNS + 1])
    await talk.remove(workload)
  })

  test('an index that is torn or missing costs times, not lines', async () => {
    const files = await written('torn', '000000001', 'a\nb\n')
    const recorder = await recordLog(files, keeping())
    await recorder.close()
    await writeFile(files.index, Buffer.alloc(7))
    assert.equal(decodeIndex(Buffer.alloc(7)).seen.out, 0)
    assert.deepEqual(texts(await read('torn')), ['a', 'b'])
    await (await recordLog(files, keeping())).close()
    await rm(files.index)
    assert.deepEqual(texts(await read('torn')), ['a', 'b'])
  })

  test('12 MB are read line by line with less than a second of processor time', async () => {
    await written(
      'fast',
      '000000001',
      `${'the quick brown fox jumps over the lazy dog, again and again and again '.padEnd(79)}\n`.repeat(150_000),
    )
    const before = process.cpuUsage()
    let bytes = 0
    for await (const line of talk.engine.logs(ref('fast'), {}, talk.signal)) bytes += line.text.length + 1
    const { user, system } = process.cpuUsage(before)
    const seconds = (user + system) / 1e6
    assert.equal(bytes, 12_000_000)
    assert.ok(seconds < 1, `it took ${seconds.toFixed(2)} s`)
  })
})
