import { readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn as spawnTerminal } from '@lydell/node-pty'
import type { CommandRef, CommandSpec, Engine } from '@stackquay/engine-api'
import { createNativeEngine, oneAccount } from '@stackquay/engines'
import { atMost, type Benchmark } from './benchmark.ts'
import { median, milliseconds, quantile } from './numbers.ts'
import { measureSocketEcho } from './terminal-socket.ts'

const never = new AbortController().signal
/** Run by root, programs drop to this user, which owns nothing on any machine. */
const ACCOUNT = process.getuid?.() === 0 ? { uid: 48_211, gid: 48_211 } : null

export const benchmark: Benchmark = {
  title: 'Terminals and runs, held by processes of their own',
  about: `\`cat\` in a terminal: from a keystroke to its echo, through the engine (pipe, holder, PTY, journal on disk, reader) and on a PTY
that this process opened itself, in turns, ten milliseconds apart; and the same through the whole service, over a WebSocket. Then a run that prints as fast as it can, read while it is kept;
what a holder costs in memory (its proportional share, with ten of them); and how long after its deadline a tree that ignores
SIGTERM is gone.`,
  measure: async ({ quick }) => {
    const folder = await mkdtemp(join(tmpdir(), 'stackquay-bench-terminal-'))
    await chmod(folder, 0o711)
    const directory = join(folder, 'project')
    await mkdir(directory)
    const engine = await createNativeEngine({ home: join(folder, 'home'), accounts: oneAccount(ACCOUNT), bundled: [] })
    try {
      const world: World = { engine, directory }
      const echo = await measureEcho(world, quick ? 50 : 1000)
      const stack = await measureSocketEcho(quick ? 50 : 1000)
      const starts = await measureStarts(world, quick ? 3 : 20)
      const memory = await measureMemory(world)
      const speed = await measureSpeed(world, quick ? 50 : 400)
      const ends = await measureEnds(world, quick ? 1 : 5)
      return {
        tables: [
          [
            ['echo of a keystroke', 'median', 'p99'],
            ['own PTY', milliseconds(median(echo.own)), milliseconds(quantile(echo.own, 0.99))],
            ['engine', milliseconds(median(echo.held)), milliseconds(quantile(echo.held, 0.99))],
            ['whole service', milliseconds(median(stack.socket)), milliseconds(quantile(stack.socket, 0.99))],
            ['own PTY, in turns with it', milliseconds(median(stack.own)), milliseconds(quantile(stack.own, 0.99))],
          ],
          [
            ['commands', 'median'],
            ['start of a command', milliseconds(median(starts))],
            ['memory of a holder without a terminal', `${memory.piped.toFixed(1)} MB`],
            ['memory of a holder with a terminal', `${memory.terminal.toFixed(1)} MB`],
            ['output, written and read at once', `${Math.round(speed)} MB/s`],
            ['a tree that ignores SIGTERM, after its deadline', milliseconds(median(ends))],
          ],
        ],
        bars: [
          atMost('median echo more than an own PTY', median(echo.held) - median(echo.own), 3, 'ms'),
          atMost('p99 echo more', quantile(echo.held, 0.99) - quantile(echo.own, 0.99), 15, 'ms'),
          atMost('whole service: median echo more', median(stack.socket) - median(stack.own), 3, 'ms'),
          atMost('whole service: p99 echo more', quantile(stack.socket, 0.99) - quantile(stack.own, 0.99), 15, 'ms'),
          { what: 'one reader', measured: `${Math.round(speed)} MB/s`, bar: '≥ 80 MB/s', kept: speed >= 80 },
          atMost('stubborn tree gone after its deadline', Math.max(...ends), 1000, 'ms'),
        ],
      }
    } finally {
      for (const ref of await engine.commands.list(never)) await engine.commands.end(ref, never)
      await engine.close()
      await rm(folder, { recursive: true, force: true })
    }
  },
}

interface World {
  readonly engine: Engine
  readonly directory: string
}

let made = 0

async function start(world: World, argv: CommandSpec['argv'], changes: Partial<CommandSpec> = {}): Promise<CommandRef> {
  made += 1
  const ref = { project: 'bench', id: `run_${made}` }
  const spec: CommandSpec = {
    ref,
    argv,
    cwd: world.directory,
    env: {},
    data: [],
    terminal: null,
    timeoutSeconds: 600,
    idleSeconds: null,
    stop: { signal: 'SIGTERM', deadlineSeconds: 1 },
    keepBytes: 16_000_000,
    ...changes,
  }
  await world.engine.commands.start(spec, { signal: never, reveal: async () => '' })
  return ref
}

async function measureEcho(world: World, times: number): Promise<{ own: number[]; held: number[] }> {
  const ref = await start(world, ['/bin/cat'], { terminal: { cols: 80, rows: 24 } })
  const local = spawnTerminal('/bin/cat', [], { cols: 80, rows: 24, cwd: world.directory })
  let ownEcho = () => {}
  let heldEcho = () => {}
  local.onData(() => ownEcho())
  const stop = new AbortController()
  const reading = (async () => {
    for await (const _ of world.engine.commands.read(ref, { after: 0, follow: true }, stop.signal)) heldEcho()
  })()
  const own: number[] = []
  const held: number[] = []
  for (let time = 0; time < times; time += 1) {
    // A new line now and then: what one line of a terminal takes is limited.
    const key = time % 50 === 49 ? '\n' : 'x'
    own.push(
      await timed(
        () => local.write(key),
        (echo) => (ownEcho = echo),
      ),
    )
    await pause(10)
    held.push(
      await timed(
        () => void world.engine.commands.write(ref, Buffer.from(key)),
        (echo) => (heldEcho = echo),
      ),
    )
    await pause(10)
  }
  stop.abort()
  await reading
  local.kill()
  await world.engine.commands.end(ref, never)
  // The first ones only warm up.
  return { own: own.slice(times / 10), held: held.slice(times / 10) }
}

async function timed(act: () => void, onEcho: (echo: () => void) => void): Promise<number> {
  const echoed = Promise.withResolvers<void>()
  onEcho(echoed.resolve)
  const begun = performance.now()
  act()
  await echoed.promise
  return performance.now() - begun
}

async function measureStarts(world: World, times: number): Promise<number[]> {
  const took: number[] = []
  for (let time = 0; time < times; time += 1) {
    const begun = performance.now()
    const ref = await start(world, ['/bin/true'])
    took.push(performance.now() - begun)
    await world.engine.commands.end(ref, never)
  }
  return took
}

async function measureMemory(world: World): Promise<{ piped: number; terminal: number }> {
  const share = async (terminal: CommandSpec['terminal']) => {
    const refs = await Promise.all(Array.from({ length: 10 }, () => start(world, ['/bin/sleep', '600'], { terminal })))
    const shares: number[] = []
    for (const ref of refs) {
      const { pid } = (await world.engine.commands.find(ref)) ?? {}
      const holder = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      const pss = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${holder}/smaps_rollup`, 'utf8'))?.[1]
      shares.push(Number(pss) / 1024)
    }
    for (const ref of refs) await world.engine.commands.end(ref, never)
    return median(shares)
  }
  return { piped: await share(null), terminal: await share({ cols: 80, rows: 24 }) }
}

/** MB/s, from the first byte to the last, while all of it is kept. */
async function measureSpeed(world: World, megabytes: number): Promise<number> {
  const bytes = megabytes * 1_000_000
  const argv: CommandSpec['argv'] = ['/bin/sh', '-c', `yes 0123456789012345678901234567890123456789 | head -c ${bytes}`]
  const ref = await start(world, argv, { keepBytes: 4 * bytes })
  const begun = performance.now()
  let read = 0
  for await (const batch of world.engine.commands.read(ref, { after: 0, follow: true }, never))
    for (const piece of batch) read += piece.bytes.length
  if (read !== bytes) throw new Error(`${read} of ${bytes} bytes were read`)
  const speed = bytes / 1000 / (performance.now() - begun)
  await world.engine.commands.remove(ref)
  return speed
}

/** Milliseconds behind the deadline. */
async function measureEnds(world: World, times: number): Promise<number[]> {
  const took: number[] = []
  for (let time = 0; time < times; time += 1) {
    const script = "trap '' TERM HUP; sleep 600 & setsid sleep 600 & while :; do sleep 1; done"
    const ref = await start(world, ['/bin/sh', '-c', script])
    await pause(300)
    const begun = performance.now()
    await world.engine.commands.end(ref, never)
    took.push(performance.now() - begun - 1000)
  }
  return took
}

const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))
