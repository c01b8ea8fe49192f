import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { CommandOutput, CommandSpec, Engine } from '@stackquay/engine-api'
import { createCharacterJoiner, lengthOfCharacters } from '../src/native/commands/characters.ts'
import { openOutputLog } from '../src/native/commands/output-log-reader.ts'
import { createOutputLogWriter } from '../src/native/commands/output-log-writer.ts'
import { decodeState, encodeState, type ShimState, STATE_BYTES } from '../src/native/commands/shim-state.ts'
import { nativeHarness } from './native-harness.ts'

const patience = () => AbortSignal.timeout(60_000)
const context = { signal: new AbortController().signal, reveal: async () => 'secret' }

test('on a full disk a command runs on, its end is known, and its output names the gap', async (t) => {
  const harness = await nativeHarness()
  const { home } = harness.options
  mkdirSync(home, { mode: 0o711 })
  let isMounted = false
  t.after(async () => {
    await engine?.close()
    if (isMounted) execFileSync('umount', ['-l', home])
    await harness.close()
  })
  let engine: Engine | null = null
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=0711', 'tmpfs', home], { stdio: 'pipe' })
  } catch {
    t.diagnostic('no right to mount a small disk; the device that is always full shows the same error below')
    return
  }
  isMounted = true
  engine = await harness.open()
  const free = join(harness.directory, 'free')
  const spec: CommandSpec = {
    ref: { project: 'full', id: 'run_1' },
    argv: ['/bin/sh', '-c', `head -c 9000000 /dev/zero; until [ -e ${free} ]; do sleep 0.05; done; echo after; exit 5`],
    cwd: harness.directory,
    env: {},
    data: [],
    terminal: null,
    timeoutSeconds: null,
    idleSeconds: null,
    stop: { signal: 'SIGTERM', deadlineSeconds: 1 },
    keepBytes: 40_000_000,
  }
  await engine.commands.start(spec, context)
  while (((await engine.commands.find(spec.ref))?.output.end ?? 0) < 1_000_000) await pause(20)
  while (statfsSync(home).bavail > 20) await pause(20)

  const second = { ...spec, ref: { project: 'full', id: 'run_2' } }
  const ballast = join(home, 'ballast')
  try {
    writeFileSync(ballast, Buffer.alloc(1_000_000))
  } catch {}
  await assert.rejects(engine.commands.start(second, context), { code: 'disk_full' })
  assert.equal(await engine.commands.find(second.ref), null)

  rmSync(ballast)
  execFileSync('mount', ['-o', 'remount,size=16m', home])
  writeFileSync(free, '')
  const options = { after: 0, follow: true }
  const chunks = (await Array.fromAsync(engine.commands.read(spec.ref, options, patience()))).flat()
  const text = Buffer.concat(chunks.map(({ bytes }) => bytes)).toString('latin1')
  assert.match(text, /\n\[\d+ bytes of output were not kept: the disk was full\]\n/)
  assert.ok(text.endsWith('after\n'))
  assert.ok(hasGap(chunks))
  const state = await engine.commands.find(spec.ref)
  assert.deepEqual([state?.state, state?.exit?.code], ['ended', 5])
})

test('a disk that takes nothing stops no writer', () => {
  const full = openSync('/dev/full', 'r+')
  try {
    const log = createOutputLogWriter([full, full, full, full], 100_000)
    log.write('stdout', Buffer.alloc(200_000), 0)
    log.write('stderr', Buffer.from('more'), 0)
    assert.equal(log.dropped(), 200_004)
    log.sync()
  } finally {
    closeSync(full)
  }
})

test('an output log read while it turns over gives no byte that was not written there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-output-log-'))
  const paths = [0, 1, 2, 3].map((at) => join(folder, String(at)))
  const descriptors = paths.map((path) => openSync(path, 'w+'))
  try {
    const log = createOutputLogWriter(descriptors, 10_000)
    const reader = await openOutputLog(paths, 0, false)
    let seen = 0
    let written = 0
    for (let turn = 0; turn < 400; turn++) {
      const chunks = reader.next()
      for (let at = 0; at < turn % 90; at++) {
        const text = `${written} `.padEnd(97, 'x')
        log.write('stdout', Buffer.from(text), turn)
        written += text.length
      }
      for (const chunk of await chunks) {
        assert.ok(chunk.from >= seen)
        assert.equal(chunk.bytes.toString(), `${chunk.from} `.padEnd(97, 'x'))
        seen = chunk.to
      }
    }
    for (let more = await reader.next(); more.length > 0; more = await reader.next()) seen = more.at(-1)?.to ?? seen
    assert.equal(seen, written)
    await reader.close()
    await assert.rejects(openOutputLog(paths, written - 96, false), { code: 'invalid_position' })
    await (await openOutputLog(paths, written - 97, false)).close()
  } finally {
    descriptors.forEach(closeSync)
    rmSync(folder, { recursive: true })
  }
})

test('of two slots the newest whole one counts', () => {
  const leader = { pid: 1, startTime: '2', bootId: '3' }
  const state: ShimState = { number: 1, holder: leader, program: leader, size: null, ended: null }
  const file = Buffer.alloc(STATE_BYTES, ' ')
  const put = (next: ShimState, length = Number.POSITIVE_INFINITY) => {
    const { bytes, at } = encodeState(next)
    bytes.copy(file, at, 0, Math.min(bytes.length, length))
  }
  assert.equal(decodeState(file), null)
  put(state)
  put({ ...state, number: 2, size: { cols: 1, rows: 1 } })
  assert.equal(decodeState(file)?.number, 2)
  put({ ...state, number: 3 }, 40)
  assert.equal(decodeState(file)?.number, 2, 'a half-written slot does not count')
})

test('a character that comes in parts is put together, and what is no UTF-8 passes', () => {
  const joiner = createCharacterJoiner()
  const bytes = Buffer.from('a€😀')
  const parts = [...bytes].map((byte) => joiner.push(Buffer.from([byte])).toString())
  assert.deepEqual(parts, ['a', '', '', '€', '', '', '', '😀'])
  assert.deepEqual([...joiner.push(Buffer.from([0xff, 0xfe, 0x80, 0x80, 0x80, 0x80]))], [255, 254, 128, 128, 128, 128])
  assert.deepEqual([...joiner.push(Buffer.from([0xe2, 0x82]))], [])
  assert.deepEqual([...joiner.end()], [0xe2, 0x82])
  assert.equal(lengthOfCharacters(Buffer.from('€€'), 4), 3)
  assert.equal(lengthOfCharacters(Buffer.from('abc'), 4), 3)
})

function hasGap(chunks: readonly CommandOutput[]): boolean {
  return chunks.some((chunk, at) => at > 0 && chunk.from !== chunks[at - 1]?.to)
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
