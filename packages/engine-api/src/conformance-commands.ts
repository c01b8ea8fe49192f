import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { CommandContext, CommandOutput, CommandRef, CommandSpec, CommandState, ExecIo } from './commands.ts'
import { programOf } from './conformance-conversation.ts'
import type { Harness } from './conformance-harness.ts'
import type { Engine } from './engine.ts'
import { EngineError } from './errors.ts'
import type { ProcessRun } from './workload.ts'

const SECRET = 'hunter2-command-hunter2'
/** Longer than anything a test waits for on a busy machine. */
const PATIENCE_MS = 30_000

/** What every engine promises about commands, tried out. */
export function commandsConformance(name: string, makeHarness: () => Promise<Harness>): void {
  describe(`commands of the engine ${name}`, () => {
    let harness: Harness
    let engine: Engine
    let made = 0
    before(async () => {
      harness = await makeHarness()
      engine = await harness.open()
    })
    after(async () => {
      await engine.close()
      await harness.close()
    })

    const never = new AbortController().signal
    const patience = () => AbortSignal.timeout(PATIENCE_MS)
    const context: CommandContext = { signal: never, reveal: async () => SECRET }
    const SIZE = { cols: 80, rows: 24 }

    function spec(run: ProcessRun, changes: Partial<CommandSpec> = {}): CommandSpec {
      made += 1
      const id = `${changes.terminal === undefined ? 'run' : 'term'}_${made}`
      return {
        ref: { project: 'commands', id },
        ...programOf(run),
        env: {},
        data: [],
        terminal: null,
        timeoutSeconds: null,
        idleSeconds: null,
        stop: { signal: 'SIGTERM', deadlineSeconds: 1 },
        keepBytes: 4_000_000,
        ...changes,
      }
    }

    async function started(run: ProcessRun, changes: Partial<CommandSpec> = {}): Promise<CommandRef> {
      const wanted = spec(run, changes)
      await engine.commands.start(wanted, context)
      return wanted.ref
    }

    async function all(ref: CommandRef, position = 0, of: Engine = engine): Promise<CommandOutput[]> {
      const options = { after: position, follow: true }
      return (await Array.fromAsync(of.commands.read(ref, options, patience()))).flat()
    }

    /** Output from the position on until it matches; the reader goes away then. */
    async function until(ref: CommandRef, matches: (text: string) => boolean, position = 0): Promise<string> {
      let text = ''
      for await (const batch of engine.commands.read(ref, { after: position, follow: true }, patience())) {
        text += textOf(batch)
        if (matches(text)) return text
      }
      throw new Error(`the output did not come; there was ${JSON.stringify(text)}`)
    }

    async function found(ref: CommandRef): Promise<CommandState> {
      const state = await engine.commands.find(ref)
      assert.ok(state !== null, `${ref.id} is not there`)
      return state
    }

    async function refusal(act: Promise<unknown>): Promise<EngineError> {
      const error: unknown = await act.then(
        () => null,
        (reason: unknown) => reason,
      )
      assert.ok(error instanceof EngineError, `expected an EngineError, got ${String(error)}`)
      assert.ok(error.hint.length > 3)
      return error
    }

    test('a command that was never started is not found, ends and is removed without complaint', async () => {
      const ref = { project: 'commands', id: 'run_nothing' }
      assert.equal(await engine.commands.find(ref), null)
      await engine.commands.end(ref, never)
      await engine.commands.remove(ref)
      assert.deepEqual(await engine.commands.list(never), [])
      assert.deepEqual(await engine.projects(never), [])
    })

    test('its output is complete and in order, and its exit code is kept', async () => {
      const ref = await started(harness.commands.count(20_000))
      const wanted = Array.from({ length: 20_000 }, (_, at) => `line ${at}\n`).join('')
      const chunks = await all(ref)
      assert.equal(textOf(chunks), wanted)
      assertGapless(chunks, 0)
      const state = await found(ref)
      assert.deepEqual(
        [state.state, state.cause, state.exit?.code, state.exit?.signal, state.pid, state.size],
        ['ended', 'exited', 0, null, null, null],
      )
      assert.deepEqual(state.output, { first: 0, end: wanted.length })
      assert.ok(Date.parse(state.startedAt) <= Date.parse(state.endedAt ?? ''))
      assert.ok(chunks.every((chunk) => Math.abs(chunk.time - Date.now()) < 10 * 60_000))
      await engine.commands.remove(ref)
      assert.equal(await engine.commands.find(ref), null)
      assert.deepEqual(await engine.projects(never), [])
    })

    test('stdout and stderr are separate, and other exit codes and signals are learnt', async () => {
      const both = await all(await started(harness.commands.both()))
      assert.deepEqual(
        both.map(({ stream, bytes }) => [stream, String(bytes)]),
        [
          ['stdout', 'out\n'],
          ['stderr', 'err\n'],
        ],
      )
      const failing = await started(harness.programs.exit(7, ['bad']))
      assert.equal(textOf(await all(failing)), 'bad\n')
      assert.equal((await found(failing)).exit?.code, 7)
      const killed = await started(harness.commands.signal('SIGUSR2'))
      await all(killed)
      assert.deepEqual([(await found(killed)).exit?.code, (await found(killed)).exit?.signal], [null, 'SIGUSR2'])
    })

    test('starting twice, also at the same time and from two instances, is starting once', async () => {
      const other = await harness.open()
      const wanted = spec(harness.programs.exit(0, ['once']))
      await Promise.all([
        engine.commands.start(wanted, context),
        other.commands.start(wanted, context),
        engine.commands.start(wanted, context),
      ])
      await engine.commands.start(wanted, context)
      assert.equal(textOf(await all(wanted.ref)), 'once\n')
      await engine.commands.start(wanted, context)
      assert.equal(textOf(await all(wanted.ref)), 'once\n', 'also after its end')
      await other.close()
    })

    test('reading resumes without loss or repetition behind every chunk, and refuses a position that was never answered', async () => {
      const ref = await started(harness.commands.both())
      const chunks = await all(ref)
      const whole = textOf(chunks)
      for (const { to } of chunks) {
        const rest = await all(ref, to)
        assertGapless(rest, to)
        assert.equal(textOf(rest), whole.slice(to))
      }
      assert.equal((await refusal(all(ref, 1))).code, 'invalid_position')
      assert.equal((await refusal(all(ref, whole.length + 1))).code, 'invalid_position')
      assert.equal((await refusal(all(ref, -1))).code, 'invalid_position')
    })

    test('without follow, reading ends with what is there', async () => {
      const ref = await started(harness.programs.print('WORD'), { env: { WORD: 'here' } })
      await until(ref, (text) => text.includes('here'))
      const now = await Array.fromAsync(engine.commands.read(ref, { after: 0, follow: false }, patience()))
      assert.equal(textOf(now.flat()), '"here"\n')
      await engine.commands.end(ref, never)
    })

    test('of long output the newest is kept, and reading from an older position says where it begins', async () => {
      const keepBytes = 200_000
      const lines = 60_000
      const ref = await started(harness.commands.count(lines), { keepBytes })
      while ((await found(ref)).state === 'running') await pause(20)
      const whole = Array.from({ length: lines }, (_, at) => `line ${at}\n`).join('')
      const { output } = await found(ref)
      assert.equal(output.end, whole.length)
      assert.ok(output.first > 0, 'the oldest is gone')
      assert.ok(output.end - output.first <= keepBytes)
      assert.ok(output.end - output.first >= keepBytes / 3, `only ${output.end - output.first} bytes are kept`)
      const kept = await all(ref)
      assert.equal(kept[0]?.from, output.first)
      assert.equal(textOf(kept), whole.slice(output.first))
    })

    test('several readers get the same, and another instance reads on and ends it', async () => {
      const ref = await started(harness.programs.print('WORD'), { env: { WORD: 'shared' } })
      const other = await harness.open()
      const readers = [engine, engine, other, other].map((of) => all(ref, 0, of))
      assert.equal((await other.commands.find(ref))?.state, 'running')
      assert.ok((await other.commands.list(never)).some(({ id }) => id === ref.id))
      assert.ok((await other.projects(never)).includes('commands'))
      await until(ref, (text) => text.includes('shared'))
      await other.commands.end(ref, never)
      for (const reader of readers) assert.equal(textOf(await reader), '"shared"\n')
      assert.deepEqual([(await found(ref)).state, (await found(ref)).cause], ['ended', 'cancelled'])
      await other.close()
    })

    test('ending a tree that ignores its stop signal leaves nothing soon after the deadline', async () => {
      const before = await harness.leftovers()
      const ref = await started(harness.commands.stubborn())
      await until(ref, (text) => text.includes('ready'))
      const begun = performance.now()
      await engine.commands.end(ref, never)
      const took = performance.now() - begun
      assert.deepEqual(await harness.leftovers(), before)
      assert.deepEqual([(await found(ref)).exit?.signal, (await found(ref)).cause], ['SIGKILL', 'cancelled'])
      assert.ok(took < 10_000, `took ${took} ms`)
      await engine.commands.end(ref, never)
    })

    test('a command is ended after its time, and when nothing happens for too long', async () => {
      const late = await started(harness.programs.hang(), { timeoutSeconds: 1 })
      const idle = await started(harness.programs.hang(), { idleSeconds: 1 })
      await Promise.all([all(late), all(idle)])
      assert.equal((await found(late)).cause, 'timeout')
      assert.equal((await found(idle)).cause, 'idle')
    })

    test('a secret reaches the program and no text that is kept', async () => {
      const ref = await started(harness.programs.hang(), { env: { PASSWORD: [{ secret: 'password', version: 1 }] } })
      for (const kept of await harness.keptTexts()) assert.ok(!kept.includes(SECRET))
      await engine.commands.end(ref, never)
      const printed = await started(harness.programs.print('PASSWORD'), {
        env: { PASSWORD: [{ secret: 'password', version: 1 }] },
      })
      await until(printed, (text) => text.includes(SECRET))
      await engine.commands.end(printed, never)
      await engine.commands.remove(printed)
    })

    test('what runs cannot be removed, and a second removal changes nothing', async () => {
      const ref = await started(harness.programs.hang())
      assert.equal((await refusal(engine.commands.remove(ref))).code, 'engine_cannot')
      assert.equal((await refusal(engine.commands.write(ref, Buffer.from('x')))).code, 'engine_cannot')
      await engine.commands.end(ref, never)
      await engine.commands.remove(ref)
      await engine.commands.remove(ref)
      assert.equal((await refusal(all(ref))).code, 'engine_cannot')
    })

    test('a program or folder that is missing is said to be, and nothing is left of it', async () => {
      const missing = spec(harness.programs.missing())
      assert.equal((await refusal(engine.commands.start(missing, context))).code, 'program_not_found')
      assert.equal(await engine.commands.find(missing.ref), null)
      const nowhere = spec({ ...harness.commands.both(), cwd: `${harness.directory}/no-such-folder` })
      assert.equal((await refusal(engine.commands.start(nowhere, context))).code, 'io_failed')
      assert.equal(await engine.commands.find(nowhere.ref), null)
    })

    test('a terminal has a size, its programs see it change, and what is typed comes back', async () => {
      const ref = await started(harness.commands.terminal(), { terminal: SIZE })
      await until(ref, (text) => text.includes('terminal 80x24'))
      assert.deepEqual((await found(ref)).size, SIZE)
      await engine.commands.resize(ref, { cols: 100, rows: 30 })
      await until(ref, (text) => text.includes('terminal 100x30'))
      assert.deepEqual((await found(ref)).size, { cols: 100, rows: 30 })
      const { end } = (await found(ref)).output
      await engine.commands.write(ref, Buffer.from('typed äß'))
      const echo = await until(ref, (text) => text.includes('typed äß'), end)
      assert.ok(!echo.includes('terminal 80x24'), 'only what came after the position')
      await engine.commands.end(ref, never)
      const whole = Buffer.concat((await all(ref)).map(({ bytes }) => bytes))
      for (const position of [0, 1, 5, end, whole.length]) {
        const rest = await all(ref, position)
        assertGapless(rest, position)
        assert.deepEqual(Buffer.concat(rest.map(({ bytes }) => bytes)), whole.subarray(position))
        assert.ok(rest.every(({ stream }) => stream === 'terminal'))
      }
      assert.equal((await refusal(all(ref, whole.length + 1))).code, 'invalid_position')
      assert.equal((await refusal(engine.commands.write(ref, Buffer.from('x')))).code, 'engine_cannot')
      await engine.commands.resize(ref, SIZE)
    })

    const exec = (run: ProcessRun, io: Partial<ExecIo> = {}, signal: AbortSignal = never) =>
      engine.commands.exec(
        {
          ...programOf(run),
          env: {},
          data: [],
          project: 'commands',
          stop: { signal: 'SIGTERM', deadlineSeconds: 1 },
        },
        { stdin: null, output: async () => {}, ...io },
        { ...context, signal },
      )

    test('exec passes stdin, output byte for byte, and the exit code', async () => {
      const output: Buffer[] = []
      const keep = async (_stream: 'stdout' | 'stderr', bytes: Buffer) => void output.push(Buffer.from(bytes))
      async function* stdin() {
        yield Buffer.from([0, 255, 10])
        yield Buffer.from('second')
      }
      assert.equal((await exec(harness.commands.copy(), { stdin: stdin(), output: keep })).code, 0)
      assert.deepEqual(Buffer.concat(output), Buffer.concat([Buffer.from([0, 255, 10]), Buffer.from('second')]))

      output.length = 0
      assert.equal((await exec(harness.commands.bytes(5_000_000), { output: keep })).code, 0)
      const bytes = Buffer.concat(output)
      assert.equal(bytes.length, 5_000_000)
      assert.deepEqual([bytes[0], bytes[255], bytes[256], bytes[4_999_999]], [0, 255, 0, 4_999_999 % 256])
      assert.equal((await exec(harness.programs.exit(9, []))).code, 9)
      assert.equal((await refusal(exec(harness.programs.missing()))).code, 'program_not_found')
    })

    test('exec hands on no second chunk of a stream while the first is not taken', async () => {
      let pending = 0
      let most = 0
      let total = 0
      await exec(harness.commands.bytes(1_000_000), {
        async output(stream, bytes) {
          if (stream !== 'stdout') return
          pending += 1
          most = Math.max(most, pending)
          await pause(1)
          total += bytes.length
          pending -= 1
        },
      })
      assert.deepEqual([most, total], [1, 1_000_000])
    })

    test('exec passes signals, and an abort ends the program and leaves nothing', async () => {
      const before = await harness.leftovers()
      let interrupt = () => {}
      const ended = await exec(harness.programs.print('PATH'), {
        started(process) {
          interrupt = () => process.signal('SIGINT')
        },
        // Only now the program is known to have begun.
        output: async () => interrupt(),
      })
      assert.deepEqual([ended.code, ended.signal], [null, 'SIGINT'])
      const abort = new AbortController()
      const error = await refusal(
        exec(harness.commands.stubborn(), { output: async () => abort.abort() }, abort.signal),
      )
      assert.equal(error.code, 'aborted')
      while ((await harness.leftovers()).length > before.length) await pause(20)
    })

    test('after everything is removed, nothing is held', async () => {
      for (const ref of await engine.commands.list(never)) {
        await engine.commands.end(ref, never)
        await engine.commands.remove(ref)
      }
      assert.deepEqual(await engine.commands.list(never), [])
      assert.deepEqual(await engine.projects(never), [])
      assert.deepEqual(await harness.leftovers(), [])
    })
  })
}

function textOf(chunks: readonly CommandOutput[]): string {
  return Buffer.concat(chunks.map(({ bytes }) => bytes)).toString('utf8')
}

function assertGapless(chunks: readonly CommandOutput[], position: number): void {
  let at = position
  for (const chunk of chunks) {
    assert.equal(chunk.from, at)
    assert.equal(chunk.to, chunk.from + chunk.bytes.length)
    at = chunk.to
  }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
