import { fsyncSync, writeSync } from 'node:fs'
import { createRequire, flushCompileCache } from 'node:module'
import { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { CommandState, TerminalSize } from '@stackquay/engine-api/commands'
import { exitStatus } from '../exit-status.ts'
import { endFamily, type Leader } from '../family.ts'
import { memoryKillsIn } from '../isolation/group-events.ts'
import { processTable } from '../this-system.ts'
import { createCharacterJoiner } from './characters.ts'
import {
  type HeldProgram,
  type Keep,
  openTerminal,
  type PtyBinding,
  type StartHeld,
  startPiped,
} from './held-program.ts'
import { DESCRIPTORS, type HolderAnswer, type HolderSpec } from './holder-spec.ts'
import { encodeState, type HolderState, STATE_BYTES } from './holder-state.ts'
import { createJournalWriter } from './journal-writer.ts'

/*
 * The program that holds one command. The engine starts it in a session of its own and may be gone afterwards. It starts the program,
 * which becomes the project's user by itself, then becomes that user too, and ends when its command has ended.
 *
 * Everything is loaded by then, so its files need not be readable to projects; what was compiled is kept for the next holder, which
 * then starts in half the time and with half the memory.
 *
 * Arguments: path of the terminal binding (empty: no terminal), its helper, and the module that starts a program
 * which is no process of this machine.
 */

const [binding = '', helper = '', starter = ''] = process.argv.slice(2)
const pty = binding === '' ? null : (createRequire(import.meta.url)(binding) as PtyBinding)
const startHeld = starter === '' ? null : ((await import(starter)) as { startHeld: StartHeld }).startHeld
flushCompileCache()
await hold(JSON.parse(await text(process.stdin)) as HolderSpec)

/** What runs elsewhere is none of our children: there is nothing that could use these rights. */
function giveUpRights({ holder }: HolderSpec): void {
  if (holder !== null) {
    process.setgroups?.([])
    process.setgid?.(holder.gid)
    process.setuid?.(holder.uid)
  }
  if (startHeld === null && process.getuid?.() === 0) process.exit(70)
}

async function hold(spec: HolderSpec): Promise<void> {
  const table = processTable()
  const journal = createJournalWriter(DESCRIPTORS.segments, spec.segmentBytes)
  const identify = (pid: number): Leader => ({
    pid,
    startTime: table.find(pid)?.startTime ?? 'gone',
    bootId: table.bootId(),
  })
  let lastActivity = performance.now()
  let cause: CommandState['cause'] = null

  const joiners = {
    stdout: createCharacterJoiner(),
    stderr: createCharacterJoiner(),
    terminal: createCharacterJoiner(),
  }
  const keep: Keep = (stream, bytes) => {
    lastActivity = performance.now()
    const whole = joiners[stream].push(bytes)
    if (whole.length > 0) journal.write(stream, whole, Date.now())
  }
  let state: HolderState = { number: 0, holder: identify(process.pid), program: null, size: spec.terminal, ended: null }
  const write = (bytes: Buffer, at: number) => writeSync(DESCRIPTORS.state, bytes, 0, bytes.length, at)
  const become = (change: Partial<HolderState>) => {
    state = { ...state, ...change, number: state.number + 1 }
    const { bytes, at } = encodeState(state)
    try {
      write(bytes, at)
    } catch {
      // The disk is gone. The program goes on, and whoever looks for it finds at least that it lives.
    }
  }
  const program = await startNoted()
  become({ program: program.pid === null ? null : identify(program.pid) })
  answer({ started: {} })

  /** That it starts is written down before: whenever this process is killed, the program ran once or never. */
  async function startNoted(): Promise<HeldProgram> {
    let noted = false
    try {
      const { bytes, at } = encodeState(state)
      write(bytes, at)
      noted = true
      const started = await start(spec, keep)
      noted = false
      giveUpRights(spec)
      return started
    } catch (error) {
      // Nothing of it ran: it may be started again.
      if (noted) write(Buffer.alloc(STATE_BYTES, ' '), 0)
      answer({ failed: { code: codeOf(error), message: String(error) } })
      process.exit(1)
    }
  }

  const endFamilyOf = (policy: HolderSpec['stop']) =>
    endFamily(
      { table, uids: new Set([process.getuid?.() ?? -1]) },
      { leader: state.program, markers: spec.markers, policy },
      new AbortController().signal,
    )
  const endAll = (policy: HolderSpec['stop']): Promise<unknown> =>
    (program.end?.(policy) ?? endFamilyOf(policy)).catch(() => {})
  const end = (why: NonNullable<CommandState['cause']>) => {
    if (cause !== null) return
    cause = why
    program.hangUp()
    void endAll(spec.stop)
  }
  process.on('SIGTERM', () => end('lost'))
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGPIPE'] as const) process.on(signal, () => {})
  if (spec.timeoutSeconds !== null) after(spec.timeoutSeconds * 1000, () => end('timeout'))
  if (spec.idleSeconds !== null)
    whenIdle(
      spec.idleSeconds * 1000,
      () => lastActivity,
      () => end('idle'),
    )
  takeKeys((bytes) => {
    lastActivity = performance.now()
    return program.write(bytes)
  })
  takeControl({
    end: () => end('cancelled'),
    resize(size) {
      program.resize(size)
      become({ size })
    },
  })

  const reported = await program.exited
  const [code, signal] = exitStatus(spec, [reported.code, reported.signal as NodeJS.Signals | null])
  const killed = cause === null && code !== 0 && memoryKillsIn(spec.memoryEvents) > 0
  const exit = { ...reported, code, signal, ...(killed ? { outOfMemory: true as const } : {}) }
  cause ??= 'exited'
  await endAll(cause === 'exited' ? { signal: 'SIGTERM', deadlineSeconds: 1 } : spec.stop)
  await program.drained()
  for (const stream of ['stdout', 'stderr', 'terminal'] as const) {
    const rest = joiners[stream].end()
    if (rest.length > 0) journal.write(stream, rest, Date.now())
  }
  journal.sync()
  become({ ended: { exit: { ...exit, at: new Date().toISOString() }, cause } })
  try {
    fsyncSync(DESCRIPTORS.state)
  } catch {}
  await program.remove?.().catch(() => {})
  process.exit(0)
}

async function start(spec: HolderSpec, keep: Keep): Promise<HeldProgram> {
  if (startHeld !== null) return startHeld(spec, keep)
  if (spec.terminal === null || pty === null) return startPiped(spec, keep)
  return openTerminal(spec, spec.terminal, pty, helper, keep)
}

/** Whoever started us may have gone: then nobody needs the answer. */
function answer(what: HolderAnswer): void {
  try {
    writeSync(1, `${JSON.stringify(what)}\n`)
  } catch {}
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'UNKNOWN'
}

/** Timers take no more than 24 days at once. */
function after(milliseconds: number, act: () => void): void {
  const step = Math.min(milliseconds, 2 ** 31 - 1)
  setTimeout(() => (milliseconds > step ? after(milliseconds - step, act) : act()), step)
}

function whenIdle(milliseconds: number, lastActivity: () => number, act: () => void): void {
  const left = lastActivity() + milliseconds - performance.now()
  if (left <= 0) act()
  else after(Math.max(left, 1), () => whenIdle(milliseconds, lastActivity, act))
}

/** Reads on when the program took what came: until then the pipe fills, and whoever types waits. */
function takeKeys(write: (bytes: Buffer) => Promise<void>): void {
  const keys = new Socket({ fd: DESCRIPTORS.keys, readable: true, writable: false })
  keys.on('error', () => {})
  keys.on('data', (bytes: Buffer) => {
    keys.pause()
    void write(bytes).finally(() => keys.resume())
  })
}

/** Lines: `end`, or `resize <cols> <rows>`. */
function takeControl(control: { end(): void; resize(size: TerminalSize): void }): void {
  const lines = new Socket({ fd: DESCRIPTORS.control, readable: true, writable: false })
  let begun = ''
  lines.on('error', () => {})
  lines.setEncoding('latin1').on('data', (text: string) => {
    const parts = (begun + text).split('\n')
    begun = parts.pop() ?? ''
    for (const part of parts) {
      const [word, cols, rows] = part.split(' ')
      if (word === 'end') control.end()
      if (word === 'resize') control.resize({ cols: Number(cols), rows: Number(rows) })
    }
  })
}
