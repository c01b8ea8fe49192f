import { writeSync } from 'node:fs'
import { createRequire, flushCompileCache } from 'node:module'
import { text } from 'node:stream/consumers'
import type { CommandState } from '@stackquay/engine-api/commands'
import type { Exit } from '@stackquay/engine-api/observed'
import { exitStatus } from '../exit-status.ts'
import { endFamily, type Leader } from '../family.ts'
import { memoryKillsIn } from '../isolation/group-events.ts'
import type { ProcessTable } from '../process-table.ts'
import { processTable } from '../this-system.ts'
import { createOutputLogWriter } from './output-log-writer.ts'
import { takeControl, takeKeys } from './shim-inputs.ts'
import { createShimOutput, type ShimOutput } from './shim-output.ts'
import {
  type Keep,
  openTerminal,
  type PtyBinding,
  type ShimProgram,
  type StartProgram,
  startPiped,
} from './shim-program.ts'
import { DESCRIPTORS, type ShimAnswer, type ShimSpec } from './shim-spec.ts'
import { createShimStateFile, type ShimStateFile } from './shim-state-file.ts'
import { after, whenIdle } from './shim-timers.ts'

/*
 * The shim of one command: the process that holds it. The engine starts it in a session of its own and may be gone afterwards. It starts the program,
 * which becomes the project's user by itself, then becomes that user too, and ends when its command has ended.
 *
 * Everything is loaded by then, so its files need not be readable to projects; what was compiled is kept for the next shim, which
 * then starts in half the time and with half the memory.
 *
 * Arguments: path of the terminal binding (empty: no terminal), its helper, and the module that starts a program
 * which is no process of this machine.
 */

const [binding = '', helper = '', starter = ''] = process.argv.slice(2)
const pty = binding === '' ? null : (createRequire(import.meta.url)(binding) as PtyBinding)
const startProgram = starter === '' ? null : ((await import(starter)) as { startProgram: StartProgram }).startProgram
flushCompileCache()
await run(JSON.parse(await text(process.stdin)) as ShimSpec)

/** What runs elsewhere is no child of this process: nothing could use these rights. */
function giveUpRights({ user }: ShimSpec): void {
  if (user !== null) {
    process.setgroups?.([])
    process.setgid?.(user.gid)
    process.setuid?.(user.uid)
  }
  if (startProgram === null && process.getuid?.() === 0) process.exit(70)
}

async function run(spec: ShimSpec): Promise<void> {
  const table = processTable()
  const output = createShimOutput(createOutputLogWriter(DESCRIPTORS.segments, spec.segmentBytes))
  const holder = leaderOf(table, process.pid)
  const state = createShimStateFile({ number: 0, holder, program: null, size: spec.terminal, ended: null })
  const program = await startNoted(spec, state, output)
  state.become({ program: program.pid === null ? null : leaderOf(table, program.pid) })
  answer({ started: {} })

  const endAll = (policy: ShimSpec['stop']) => endProgram(spec, program, state.now.program, table, policy)
  let cause: CommandState['cause'] = null
  const end = (why: NonNullable<CommandState['cause']>) => {
    if (cause !== null) return
    cause = why
    program.hangUp()
    void endAll(spec.stop)
  }
  endWhenAsked(spec, output, end)
  takeInput(program, state, output, end)

  const reported = await program.exited
  const exit = exitOf(spec, reported, cause === null)
  cause ??= 'exited'
  await endAll(cause === 'exited' ? { signal: 'SIGTERM', deadlineSeconds: 1 } : spec.stop)
  await program.drained()
  output.finish()
  state.become({ ended: { exit: { ...exit, at: new Date().toISOString() }, cause } })
  state.sync()
  await program.remove?.().catch(() => {})
  process.exit(0)
}

/** That it starts is written down before: whenever this process is killed, the program ran once or never. */
async function startNoted(spec: ShimSpec, state: ShimStateFile, { keep }: ShimOutput): Promise<ShimProgram> {
  let noted = false
  try {
    state.begin()
    noted = true
    const started = await start(spec, keep)
    noted = false
    giveUpRights(spec)
    return started
  } catch (error) {
    // Nothing of it ran: it may be started again.
    if (noted) state.clear()
    answer({ failed: { code: codeOf(error), message: String(error) } })
    process.exit(1)
  }
}

async function start(spec: ShimSpec, keep: Keep): Promise<ShimProgram> {
  if (startProgram !== null) return startProgram(spec, keep)
  if (spec.terminal === null || pty === null) return startPiped(spec, keep)
  return openTerminal(spec, spec.terminal, pty, helper, keep)
}

/** Signals and times that end the command. */
function endWhenAsked(spec: ShimSpec, output: ShimOutput, end: (why: 'lost' | 'timeout' | 'idle') => void): void {
  process.on('SIGTERM', () => end('lost'))
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGPIPE'] as const) process.on(signal, () => {})
  if (spec.timeoutSeconds !== null) after(spec.timeoutSeconds * 1000, () => end('timeout'))
  if (spec.idleSeconds !== null) whenIdle(spec.idleSeconds * 1000, output.lastActivity, () => end('idle'))
}

/** Passes on keystrokes, and does what the engine asks for. */
function takeInput(
  program: ShimProgram,
  state: ShimStateFile,
  output: ShimOutput,
  end: (why: 'cancelled') => void,
): void {
  takeKeys((bytes) => {
    output.stir()
    return program.write(bytes)
  })
  takeControl({
    end: () => end('cancelled'),
    resize(size) {
      program.resize(size)
      state.become({ size })
    },
  })
}

/** Resolves when nothing of it lives, or when it cannot be ended. */
async function endProgram(
  spec: ShimSpec,
  program: ShimProgram,
  leader: Leader | null,
  table: ProcessTable,
  policy: ShimSpec['stop'],
): Promise<void> {
  const suspects = { table, uids: new Set([process.getuid?.() ?? -1]) }
  const ending =
    program.end?.(policy) ??
    endFamily(suspects, { leader, markers: spec.markers, policy }, new AbortController().signal)
  await ending.catch(() => {})
}

function exitOf(spec: ShimSpec, reported: Omit<Exit, 'at'>, endedByItself: boolean): Omit<Exit, 'at'> {
  const [code, signal] = exitStatus(spec, [reported.code, reported.signal as NodeJS.Signals | null])
  const killed = endedByItself && code !== 0 && memoryKillsIn(spec.memoryEvents) > 0
  return { ...reported, code, signal, ...(killed ? { outOfMemory: true as const } : {}) }
}

function leaderOf(table: ProcessTable, pid: number): Leader {
  return { pid, startTime: table.find(pid)?.startTime ?? 'gone', bootId: table.bootId() }
}

/** The process that asked may be gone: then the answer is not needed. */
function answer(what: ShimAnswer): void {
  try {
    writeSync(1, `${JSON.stringify(what)}\n`)
  } catch {}
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'UNKNOWN'
}
