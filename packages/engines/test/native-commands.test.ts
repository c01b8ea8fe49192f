import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { CommandOutput, CommandRef, CommandSpec, Engine, ProcessRun } from '@stackquay/engine-api'
import { decodeState } from '../src/native/commands/shim-state.ts'
import { exists } from '../src/native/waiting.ts'
import { type NativeHarness, nativeHarness } from './native-harness.ts'

const never = new AbortController().signal
const patience = () => AbortSignal.timeout(60_000)
const context = { signal: never, reveal: async () => 'secret' }

describe('commands of the native engine, among friendly and hostile processes', () => {
  let harness: NativeHarness
  let engine: Engine
  let made = 0
  before(async () => {
    harness = await nativeHarness()
    engine = await harness.open()
  })
  after(async () => {
    await engine.close()
    await harness.close()
  })

  const shell = (script: string): ProcessRun => ({
    kind: 'process',
    argv: ['/bin/sh', '-c', script],
    cwd: harness.directory,
  })

  function spec(run: ProcessRun, changes: Partial<CommandSpec> = {}): CommandSpec {
    made += 1
    return {
      ref: { project: 'held', id: `run_${made}` },
      argv: run.argv,
      cwd: run.cwd,
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

  const follow = (ref: CommandRef, position = 0) =>
    engine.commands.read(ref, { after: position, follow: true }, patience())
  const all = async (ref: CommandRef, position = 0) => (await Array.fromAsync(follow(ref, position))).flat()

  async function until(ref: CommandRef, matches: (text: string) => boolean): Promise<string> {
    let text = ''
    for await (const batch of follow(ref)) {
      text += textOf(batch)
      if (matches(text)) return text
    }
    throw new Error(`the output did not come; there was ${JSON.stringify(text)}`)
  }

  const directoryOf = (ref: CommandRef) => join(harness.options.home, 'commands', ref.project, ref.id)
  const shimOf = async (ref: CommandRef) =>
    decodeState(await readFile(join(directoryOf(ref), 'state')))?.holder.pid ?? 0

  /** A control plane of its own that does this, says `done`, and is killed when that was heard. */
  async function killedPlane(acts: string): Promise<void> {
    const source = `
      import { createNativeEngine } from ${JSON.stringify(new URL('../src/native/index.ts', import.meta.url).href)}
      const engine = await createNativeEngine(${harness.optionsElsewhere})
      const context = { signal: new AbortController().signal, reveal: async () => 'secret' }
      ${acts}
      console.log('done')
      setInterval(() => {}, 1000)`
    const plane = spawn(process.execPath, ['--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const gone = once(plane, 'exit')
    await once(plane.stdout, 'data')
    plane.kill('SIGKILL')
    await gone
  }

  test('a run of 100,000 lines goes on when its control plane is killed; reading on loses and repeats nothing', async () => {
    const wanted = spec(
      harness.script(`let n = 0
        const more = () => {
          let text = ''
          for (let i = 0; i < 1000; i++) text += 'line ' + n++ + '\\n'
          process.stdout.write(text, () => n < 100_000 ? setTimeout(more, 5) : process.stderr.write('end\\n'))
        }
        more()`),
    )
    await killedPlane(`
      await engine.commands.start(${JSON.stringify(wanted)}, context)
      const reader = engine.commands.read(${JSON.stringify(wanted.ref)}, { after: 0, follow: true }, context.signal)
      for await (const batch of reader) if (batch.at(-1).to > 50_000) break`)
    const chunks: CommandOutput[] = []
    for (let at = 0, turns = 0; ; turns++) {
      const reader = await harness.open()
      let cut = false
      for await (const batch of reader.commands.read(wanted.ref, { after: at, follow: true }, patience())) {
        chunks.push(...batch)
        at = batch.at(-1)?.to ?? at
        cut = turns < 20
        if (cut) break
      }
      await reader.close()
      if (!cut) break
    }
    const lines = textOf(chunks.filter(({ stream }) => stream === 'stdout')).split('\n')
    assert.equal(lines.length, 100_001)
    assert.ok(lines.slice(0, -1).every((line, at) => line === `line ${at}`))
    assert.equal(textOf(chunks.filter(({ stream }) => stream === 'stderr')), 'end\n')
    assert.equal((await engine.commands.find(wanted.ref))?.exit?.code, 0)
  })

  test('a terminal goes on while there is no control plane, and answers the next one', async () => {
    const wanted = spec(shell('sleep 1; echo ok; read word; echo "got $word"'), { terminal: { cols: 80, rows: 24 } })
    await killedPlane(`await engine.commands.start(${JSON.stringify(wanted)}, context)`)
    await until(wanted.ref, (text) => text.includes('ok'))
    await engine.commands.write(wanted.ref, Buffer.from('something\n'))
    await until(wanted.ref, (text) => text.includes('got something'))
    await all(wanted.ref)
    assert.equal((await engine.commands.find(wanted.ref))?.exit?.code, 0)
  })

  test('time-out and idle time end a command also without an engine', async () => {
    const late = spec(shell('while :; do echo more; sleep 0.2; done'), { timeoutSeconds: 1 })
    const idle = spec(shell('echo once; exec sleep 600'), { idleSeconds: 1 })
    await killedPlane(`
      await engine.commands.start(${JSON.stringify(late)}, context)
      await engine.commands.start(${JSON.stringify(idle)}, context)`)
    while ((await harness.leftovers()).length > 0) await pause(20)
    assert.equal((await engine.commands.find(late.ref))?.cause, 'timeout')
    assert.equal((await engine.commands.find(idle.ref))?.cause, 'idle')
  })

  test('a command whose shim is killed has ended as lost, with all that it ran', async () => {
    const ref = await started(shell('setsid sleep 600 & echo ready; sleep 600'))
    await until(ref, (text) => text.includes('ready'))
    const reading = all(ref)
    process.kill(await shimOf(ref), 'SIGKILL')
    assert.equal(textOf(await reading), 'ready\n')
    const state = await engine.commands.find(ref)
    assert.deepEqual(
      [state?.state, state?.cause, state?.exit?.code, state?.exit?.signal],
      ['ended', 'lost', null, null],
    )
    assert.deepEqual(await harness.leftovers(), [])
    await engine.commands.end(ref, never)
  })

  test('a shim that does not answer is ended with its command', async () => {
    const ref = await started(harness.programs.hang())
    const shim = await shimOf(ref)
    process.kill(shim, 'SIGSTOP')
    await engine.commands.end(ref, never)
    assert.equal((await engine.commands.find(ref))?.cause, 'cancelled')
    assert.deepEqual(await harness.leftovers(), [])
  })

  test('what a crash left between its files and its start is cleared away, and the command can be started', async () => {
    const wanted = spec(shell('echo fresh'))
    await mkdir(directoryOf(wanted.ref), { recursive: true })
    await writeFile(join(directoryOf(wanted.ref), 'command.json'), JSON.stringify({ version: 1, ref: wanted.ref }))
    assert.ok(!(await engine.commands.list(never)).some(({ id }) => id === wanted.ref.id))
    assert.equal(await exists(directoryOf(wanted.ref)), false)
    await mkdir(directoryOf(wanted.ref), { recursive: true })
    await engine.commands.start(wanted, context)
    assert.equal(textOf(await all(wanted.ref)), 'fresh\n')
  })

  test('a control plane that is killed while it starts a command leaves one that ran, or none: it never runs twice', async () => {
    for (const wait of [0, 30, 60, 90, 120, 200]) {
      const wanted = spec(shell('echo once >> "$0"'))
      const seen = join(harness.directory, `seen-${wanted.ref.id}`)
      const one: CommandSpec = { ...wanted, argv: [...wanted.argv, seen] }
      await killedPlane(`
        engine.commands.start(${JSON.stringify(one)}, context)
        await new Promise((resolve) => setTimeout(resolve, ${wait}))`)
      await engine.commands.start(one, context)
      await all(wanted.ref)
      const times = (await readFile(seen, 'utf8').catch(() => '')).split('\n').length - 1
      const cause = (await engine.commands.find(wanted.ref))?.cause
      assert.ok(cause === 'exited' ? times === 1 : cause === 'lost' && times <= 1, `${cause}, ${times} times`)
    }
  })

  test('characters are never cut, however they were written', async () => {
    const source = `const bytes = Buffer.from('aä€😀'.repeat(20)); let at = 0
      const more = () => { if (at < bytes.length) process.stdout.write(bytes.subarray(at, at += 7), () => setTimeout(more, 5)) }
      more()`
    const chunks = await all(await started(harness.script(source)))
    const decoder = new TextDecoder('utf-8', { fatal: true })
    assert.equal(chunks.map(({ bytes }) => decoder.decode(bytes)).join(''), 'aä€😀'.repeat(20))
  })

  test('what is typed faster than it is read waits, and all of it arrives', async () => {
    const ref = await started(shell('stty raw -echo; echo ready; sleep 1; head -c 300000 | cksum; sleep 600'), {
      terminal: { cols: 80, rows: 24 },
    })
    await until(ref, (text) => text.includes('ready'))
    const bytes = Buffer.alloc(300_000, 'abcdefg')
    await engine.commands.write(ref, bytes)
    const cksum = spawn('cksum')
    cksum.stdin.end(bytes)
    const sum = await once(cksum.stdout, 'data')
    await until(ref, (text) => text.includes(String(sum[0]).trim()))
    await engine.commands.end(ref, never)
  })

  test('a hostile program leaves its group, closes what it was given and prints for ever: it is bounded, and ended wholly', async () => {
    const keepBytes = 400_000
    const ref = await started(
      shell(`setsid sh -c 'trap "" TERM HUP; exec >&- 2>&-; while :; do sleep 1; done' &
        (trap '' TERM HUP; exec setsid yes) & exec yes hostile`),
      { keepBytes },
    )
    const other = await started(shell(`ls ${directoryOf(ref)} 2>/dev/null || echo refused; id -u`))
    assert.match(textOf(await all(other)), !harness.hasUsers ? /journal/ : /refused\n4[89]\d{3}\n/)
    while (((await engine.commands.find(ref))?.output.end ?? 0) < 20_000_000) await pause(20)
    const sizes = (await readdir(directoryOf(ref))).map(async (name) => (await stat(join(directoryOf(ref), name))).size)
    const onDisk = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
    assert.ok(onDisk <= keepBytes + 8192, `${onDisk} bytes on disk`)
    await engine.commands.end(ref, never)
    assert.deepEqual(await harness.leftovers(), [])
    const { first = 0, end = 0 } = (await engine.commands.find(ref))?.output ?? {}
    assert.ok(end - first <= keepBytes)
  })

  test('programs get none of the descriptors of their shim, and may open /dev/stdout', async () => {
    const ref = await started(shell('echo by name > /dev/stdout; echo err > /dev/stderr; ls -l /proc/$$/fd 2>&1'))
    const text = textOf(await all(ref))
    assert.match(text, /by name/)
    assert.match(text, /err/)
    assert.doesNotMatch(text, /journal|state|keys|control/)
  })

  test('exec gives real pipes to print to: /dev/stdout can be opened, and of their names nothing is left', async () => {
    const output: string[] = []
    const script = 'cat > /dev/stdout; echo err > /dev/stderr; exit 6'
    const exit = await engine.commands.exec(
      { ...spec(shell(script)), project: 'held' },
      {
        stdin: (async function* () {
          yield Buffer.from('through')
        })(),
        output: async (stream, bytes) => void output.push(`${stream}: ${bytes}`),
      },
      context,
    )
    assert.deepEqual([output, exit.code], [['stdout: through', 'stderr: err\n'], 6])
    assert.deepEqual(await readdir(join(harness.options.home, 'commands', '.pipes')), [])
  })

  test('a program of the same user sees nothing of a shim', async () => {
    const held = await started(harness.programs.hang(), { env: { PASSWORD: 'hunter2' } })
    const shim = await shimOf(held)
    const prying = await started(shell(`ls -l /proc/${shim}/fd; cat /proc/${shim}/environ || echo refused`))
    const text = textOf(await all(prying))
    assert.doesNotMatch(text, /hunter2/)
    if (harness.hasUsers) assert.match(text, /refused/)
    await engine.commands.end(held, never)
  })

  test('a slow follower that is overtaken goes on with what is kept, and sees the gap', async () => {
    const ref = await started(shell('seq 1 20; read word; seq 1 100000; sleep 600'), {
      terminal: { cols: 80, rows: 24 },
      keepBytes: 100_000,
    })
    const reader = follow(ref)[Symbol.asyncIterator]()
    const first = await reader.next()
    await engine.commands.write(ref, Buffer.from('go\n'))
    while (((await engine.commands.find(ref))?.output.first ?? 0) === 0) await pause(20)
    let at = (first.value as readonly CommandOutput[]).at(-1)?.to ?? 0
    let gaps = 0
    for (let last = ''; !last.includes('100000\r\n'); ) {
      const { value, done } = await reader.next()
      assert.ok(done !== true)
      for (const chunk of value) {
        if (chunk.from !== at) gaps += 1
        assert.ok(chunk.from >= at)
        at = chunk.to
      }
      last = textOf(value)
    }
    assert.ok(gaps >= 1)
    await reader.return?.()
    await engine.commands.end(ref, never)
  })

  test('removing one while it is being started never loses sight of it', async () => {
    const wanted = spec(harness.programs.hang())
    const starting = engine.commands.start(wanted, context)
    while (!(await exists(directoryOf(wanted.ref)))) await pause(0)
    await assert.rejects(engine.commands.remove(wanted.ref), /still runs/)
    await starting
    assert.equal((await engine.commands.find(wanted.ref))?.state, 'running')
    await engine.commands.end(wanted.ref, never)
  })

  test('of many sizes at once the last one stays', async () => {
    const ref = await started(shell('echo ready; sleep 600'), { terminal: { cols: 80, rows: 24 } })
    await until(ref, (text) => text.includes('ready'))
    const sizes = Array.from({ length: 200 }, (_, at) => ({ cols: 20 + (at % 90), rows: 10 + (at % 31) }))
    await Promise.all(sizes.map((size) => engine.commands.resize(ref, size)))
    assert.deepEqual((await engine.commands.find(ref))?.size, sizes.at(-1))
    await engine.commands.end(ref, never)
  })

  test('a command whose record was lost is ended all the same', async () => {
    const before = await harness.leftovers()
    const ref = await started(harness.programs.hang())
    await rm(join(directoryOf(ref), 'command.json'))
    assert.ok((await engine.commands.list(never)).some(({ id }) => id === ref.id))
    await engine.commands.end(ref, never)
    assert.deepEqual(await harness.leftovers(), before)
    await engine.commands.remove(ref)
  })

  test('what cannot be looked at hides no other command', async () => {
    const ref = await started(shell('echo here'))
    const odd = { project: 'odd', id: 'run_odd' }
    await mkdir(join(directoryOf(odd), 'command.json'), { recursive: true })
    const listed = await engine.commands.list(never)
    assert.deepEqual(
      [ref, odd].map((one) => listed.some(({ id }) => id === one.id)),
      [true, true],
    )
    await rm(join(harness.options.home, 'commands', odd.project), { recursive: true })
  })

  test('a shim that cannot begin says why', async () => {
    const broken = join(harness.directory, 'broken-node')
    await writeFile(broken, '#!/bin/sh\necho "Error: pty.node: file too short" >&2; exit 1\n', { mode: 0o755 })
    const node = process.execPath
    process.execPath = broken
    try {
      await assert.rejects(engine.commands.start(spec(shell('true')), context), /\(pty\.node: file too short\)/)
    } finally {
      process.execPath = node
    }
  })

  test('a long input for a program leaves no listener behind', async () => {
    const warnings: string[] = []
    const hear = ({ message }: Error) => warnings.push(message)
    process.on('warning', hear)
    const input = async function* () {
      for (let at = 0; at < 200; at++) yield Buffer.alloc(65_536)
    }
    let size = 0
    const output = async (_stream: string, bytes: Buffer) => {
      size += bytes.length
    }
    await engine.commands.exec({ ...spec(shell('cat')), project: 'held' }, { stdin: input(), output }, context)
    process.off('warning', hear)
    assert.equal(size, 200 * 65_536)
    assert.deepEqual(warnings, [])
  })

  test('twenty commands at once are all complete', async () => {
    const refs = await Promise.all(
      Array.from({ length: 20 }, (_, at) => started(shell(`seq 1 2000; echo "of ${at}"; exit ${at}`))),
    )
    const outputs = await Promise.all(refs.map((ref) => all(ref)))
    const numbers = Array.from({ length: 2000 }, (_, at) => `${at + 1}\n`).join('')
    for (const [at, ref] of refs.entries()) {
      assert.equal(textOf(outputs[at] ?? []), `${numbers}of ${at}\n`)
      assert.equal((await engine.commands.find(ref))?.exit?.code, at)
      await engine.commands.remove(ref)
    }
  })

  test('what a killed control plane ran for a caller is ended by the next one', async () => {
    const before = await harness.leftovers()
    const wanted = { ...spec(shell('echo begun; sleep 600')), project: 'held' }
    await killedPlane(`await new Promise((resolve) => {
      engine.commands.exec(${JSON.stringify(wanted)}, { stdin: null, output: async () => resolve() }, context)
    })`)
    assert.ok((await harness.leftovers()).length > before.length)
    const next = await harness.open()
    assert.deepEqual(await harness.leftovers(), before)
    await next.close()
  })
})

function textOf(chunks: readonly CommandOutput[]): string {
  return Buffer.concat(chunks.map(({ bytes }) => bytes)).toString('utf8')
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
