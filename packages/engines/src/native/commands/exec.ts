import { once } from 'node:events'
import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import type { CommandContext, CommandProgram, ExecIo, Exit, StopPolicy } from '@stackquay/engine-api'
import { abortedError, asEngineError, throwIfAborted } from '../errors.ts'
import { exitStatus } from '../exit-status.ts'
import { endFamily } from '../family.ts'
import { isName } from '../home.ts'
import { type Confined, suspectsOf } from '../isolation/confine.ts'
import { limitedExit } from '../limit-watch.ts'
import type { Machine } from '../machine.ts'
import { commandUnit, execMarkers, isOrphanedExec, isRunId, newRunId } from '../marker.ts'
import { type Spawned, spawnDetached } from '../spawn.ts'
import { pause } from '../time.ts'
import type { PreparedProgram } from './command-host.ts'
import { openProgramPipes } from './pipes.ts'
import { preparedProgram } from './prepared-program.ts'

const QUIET_MS = 2000

/**
 * Runs a program for its caller. Nothing is read ahead of what the caller takes: then the pipe fills and the program
 * waits. When the signal aborts, the program is ended and this rejects.
 */
export async function execProgram(
  machine: Machine,
  program: CommandProgram & { readonly project: string; readonly stop: StopPolicy },
  io: ExecIo,
  context: CommandContext,
): Promise<Exit> {
  const id = newRunId()
  const marker = `${execMarkers(machine, program.project)}${id}`
  const confined = await machine.confiner.of(program.project, commandUnit({ id }), program.limits)
  try {
    return await execConfined(machine, confined, program, marker, io, context)
  } finally {
    confined.group?.remove()
  }
}

async function execConfined(
  machine: Machine,
  confined: Confined,
  program: CommandProgram & { readonly project: string; readonly stop: StopPolicy },
  marker: string,
  io: ExecIo,
  context: CommandContext,
): Promise<Exit> {
  const prepared = await preparedProgram(machine, confined, program.project, program, marker, context)
  throwIfAborted(context.signal)
  const { child, leader, stdin, stdout, stderr } = await spawnWithPipes(machine, prepared, io)
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  const target = { leader, markers: marker, policy: program.stop, group: confined.group }
  const end = () => endFamily(suspectsOf(machine, program.project), target, new AbortController().signal)
  io.started?.({ pid: leader.pid, signal: (name) => signalGroup(leader.pid, name) })

  const failed = new AbortController()
  const stopped = AbortSignal.any([context.signal, failed.signal])
  const interrupted = new Promise<null>((resolve) => {
    if (stopped.aborted) resolve(null)
    stopped.addEventListener('abort', () => resolve(null), { once: true })
  })
  const orFail = (work: Promise<void>) => work.catch((error: unknown) => failed.abort(error))
  const progress = { at: performance.now(), pending: 0 }
  const pumps = Promise.all([
    orFail(pump(stdout, (bytes) => io.output('stdout', bytes), progress, stopped)),
    orFail(pump(stderr, (bytes) => io.output('stderr', bytes), progress, stopped)),
  ])
  void orFail(feed(io.stdin, stdin, stopped))

  try {
    const result = await Promise.race([exited, interrupted])
    await end()
    if (result !== null) await Promise.race([pumps, interrupted, untilQuiet(progress, failed.signal)])
    const [code, signal] = exitStatus(confined, await exited)
    if (context.signal.aborted) throw abortedError()
    if (failed.signal.aborted) throw asEngineError(failed.signal.reason, context.signal)
    const exit = { code, signal, at: machine.now().toISOString() }
    return limitedExit(exit, confined.group)
  } finally {
    failed.abort()
    for (const stream of [stdin, stdout, stderr]) stream?.destroy()
  }
}

interface PipedProgram extends Spawned {
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
}

async function spawnWithPipes(machine: Machine, program: PreparedProgram, io: ExecIo): Promise<PipedProgram> {
  const input = io.stdin === null ? 'ignore' : 'pipe'
  if (io.pipe !== undefined) return spawnInto(machine, program, input, io.pipe)
  const pipes = await openProgramPipes(machine.home).catch(() => null)
  if (pipes === null) {
    // On a full disk no pipe can be named; programs must run there all the same, if only to free some space.
    const spawned = await spawnDetached(machine, program, [input, 'pipe', 'pipe'])
    const { stdin, stdout, stderr } = spawned.child
    return { ...spawned, stdin, stdout, stderr }
  }
  const { stdout, stderr } = pipes
  try {
    const spawned = await spawnDetached(machine, program, [input, stdout.writeEnd, stderr.writeEnd])
    return {
      ...spawned,
      stdin: spawned.child.stdin,
      stdout: new Socket({ fd: stdout.readEnd, readable: true, writable: false }),
      stderr: new Socket({ fd: stderr.readEnd, readable: true, writable: false }),
    }
  } catch (error) {
    for (const { readEnd } of [stdout, stderr]) closeSync(readEnd)
    throw error
  } finally {
    for (const { writeEnd } of [stdout, stderr]) closeSync(writeEnd)
  }
}

async function spawnInto(machine: Machine, program: PreparedProgram, input: 'ignore' | 'pipe', pipe: Socket) {
  try {
    const spawned = await spawnDetached(machine, program, [input, pipe, 'pipe'])
    return { ...spawned, stdin: spawned.child.stdin, stdout: null, stderr: spawned.child.stderr }
  } finally {
    pipe.destroy()
  }
}

/** Ends what a control plane that was killed left running for a caller who is gone with it. */
export async function endOrphanedExecs(machine: Machine, signal: AbortSignal): Promise<void> {
  const policy = { signal: 'SIGTERM', deadlineSeconds: 1 } as const
  const { table } = machine
  const uids = new Set([...machine.accounts.all().map(({ account }) => account.uid), process.getuid?.() ?? -1])
  const orphans = table.marked(uids).filter(({ marker }) => isOrphanedExec(machine, marker))
  for (const markers of new Set(orphans.map(({ marker }) => marker))) {
    const [, project = '', , , id = ''] = markers.split('.')
    // Any program can say in its environment what it likes; only an id of the engine's form names a group, and no program can guess one.
    const group = isName(project) && isRunId(id) ? machine.confiner.group(project, commandUnit({ id })) : null
    // One that even SIGKILL does not end is nothing the service must wait for.
    await endFamily({ table, uids }, { leader: null, markers, policy, group }, signal).catch(() => {})
    group?.remove()
  }
}

interface Progress {
  at: number
  /** Chunks that the caller has not taken yet. */
  pending: number
}

async function pump(
  from: Readable | null,
  output: (bytes: Buffer) => Promise<void>,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  for await (const bytes of from ?? []) {
    if (signal.aborted) return
    progress.pending += 1
    await output(bytes as Buffer)
    progress.pending -= 1
    progress.at = performance.now()
  }
}

/** A process that cannot be found keeps the pipe open: its output is not waited for. */
async function untilQuiet(progress: Progress, signal: AbortSignal): Promise<void> {
  const begun = performance.now()
  while (!signal.aborted) {
    await pause(QUIET_MS / 10, signal)
    if (progress.pending === 0 && performance.now() - Math.max(begun, progress.at) > QUIET_MS) return
  }
}

function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal)
  } catch {}
}

async function feed(stdin: ExecIo['stdin'], to: Writable | null, signal: AbortSignal): Promise<void> {
  if (stdin === null || to === null) return
  let open = true
  to.on('error', () => {
    open = false
  })
  for await (const bytes of stdin) {
    if (!open || signal.aborted) return
    if (!to.write(bytes)) await drained(to)
  }
  to.end()
}

/** Also without a reader. Leaves no listener behind: a long input comes here thousands of times. */
async function drained(to: Writable): Promise<void> {
  const found = new AbortController()
  const { signal } = found
  await Promise.race([once(to, 'drain', { signal }), once(to, 'close', { signal })]).catch(() => {})
  found.abort()
}
