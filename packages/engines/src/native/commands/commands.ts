import { readdir, rm, rmdir } from 'node:fs/promises'
import { type CommandRef, type Commands, EngineError } from '@stackquay/engine-api'
import type { TerminalSize } from '@stackquay/engine-api/commands'
import { removeGivenFolder } from '../as-user/trees.ts'
import { asEngineError, orNull, throwIfAborted } from '../errors.ts'
import { commandDir, commandLock, commandsDir, homeDir, isName, runDir, tmpDir } from '../home.ts'
import { withLockFile } from '../lock.ts'
import { pause } from '../time.ts'
import { exists } from '../waiting.ts'
import { sendToShim } from './command-control.ts'
import { controlPath, keysPath, readShimState } from './command-files.ts'
import type { CommandHost } from './command-host.ts'
import { type CommandWakes, createCommandWakes } from './command-wakes.ts'
import { endCommand } from './end-command.ts'
import { findCommand, hasShim, settledState } from './find-command.ts'
import { noCommand, readCommand } from './read-command.ts'
import { startCommand } from './start-command.ts'

/** How long a program may leave what is typed unread before the typist gets an error. */
const KEYS_MS = 30_000
const SHIM_GONE_MS = 5000
/** How soon a resize must be taken. */
const CONTROL_MS = 5000

/** Commands of this home, of every instance: all that is known of one lies on disk. */
export function createCommands(host: CommandHost, exec: Commands['exec'], closing: AbortSignal): Commands {
  const { home } = host
  const wakes = createCommandWakes(home)
  const queues = new Map<string, Promise<unknown>>()
  /** The last size that was asked for: of those that wait behind each other, only that one counts. */
  const sizes = new Map<string, TerminalSize>()
  /** Those that were asked for already: what is a terminal stays one. */
  const terminals = new Set<string>()
  const until = (signal: AbortSignal) => AbortSignal.any([signal, closing])

  /** Keystrokes for one terminal keep their order, and so do its sizes. */
  function inOrder<T>(key: string, act: () => Promise<T>): Promise<T> {
    const mine = (queues.get(key) ?? Promise.resolve()).then(act, act)
    queues.set(key, mine)
    const forget = () => void (queues.get(key) === mine && queues.delete(key))
    mine.then(forget, forget)
    return mine
  }

  return {
    start: (spec, context) =>
      startCommand(host, spec, context).catch((error: unknown) => {
        throw asEngineError(error, context.signal)
      }),
    find: (ref) => findCommand(host, ref, closing),
    list: (signal) => listCommands(host, until(signal)),
    read: (ref, options, signal) => readCommand(host, wakes, ref, options, until(signal)),
    write(ref, bytes) {
      const key = commandDir(home, ref)
      return inOrder(`${key} keys`, async () => {
        if (!terminals.has(key)) await refuseWithoutTerminal(host, ref)
        terminals.add(key)
        // Having written down the end, its shim lives on for a moment, and would take input that no program reads.
        if ((await readShimState(home, ref))?.ended != null) throw hasEnded(ref)
        const options = { ref, deadlineMs: KEYS_MS, signal: closing }
        if (await sendToShim(keysPath(key), bytes, options)) return
        terminals.delete(key)
        throw hasEnded(ref)
      })
    },
    resize(ref, size) {
      const key = commandDir(home, ref)
      sizes.set(key, size)
      return inOrder(`${key} size`, async () => {
        if (sizes.get(key) !== size) return
        sizes.delete(key)
        await resizeCommand(host, wakes, ref, size, closing)
      })
    },
    end: (ref, signal) => endCommand(host, wakes, ref, until(signal)),
    async remove(ref) {
      terminals.delete(commandDir(home, ref))
      await removeCommand(host, ref, closing)
    },
    exec,
  }
}

/** Resolves when programs see it, or when it has ended meanwhile. */
async function resizeCommand(
  host: CommandHost,
  wakes: CommandWakes,
  ref: CommandRef,
  size: TerminalSize,
  signal: AbortSignal,
): Promise<void> {
  if ((await readShimState(host.home, ref))?.ended != null) return
  await refuseWithoutTerminal(host, ref)
  const [cols, rows] = [size.cols, size.rows].map((value) => Math.min(Math.max(Math.trunc(value), 1), 10_000))
  const line = Buffer.from(`resize ${cols} ${rows}\n`)
  const path = controlPath(commandDir(host.home, ref))
  if (!(await sendToShim(path, line, { ref, deadlineMs: CONTROL_MS, signal }))) return
  const change = wakes.listen(ref)
  const deadline = performance.now() + CONTROL_MS
  try {
    for (;;) {
      const state = await settledState(host, ref, signal)
      if (state === null || state.ended !== null) return
      if ((state.size?.cols === cols && state.size?.rows === rows) || performance.now() > deadline) return
      await change.changed(signal)
    }
  } finally {
    change.close()
  }
}

/** One that cannot be looked at counts as there; the others are listed all the same. */
async function listCommands(host: CommandHost, signal: AbortSignal): Promise<CommandRef[]> {
  const { commands } = host.home
  const found: CommandRef[] = []
  for (const project of ((await orNull(readdir(commands))) ?? []).filter(isName)) {
    for (const id of ((await orNull(readdir(commandsDir(host.home, project)))) ?? []).filter(isName)) {
      throwIfAborted(signal)
      const ref = { project, id }
      const isThere = await settledState(host, ref, signal).then(
        (state) => state !== null,
        () => true,
      )
      if (isThere) found.push(ref)
    }
  }
  return found
}

async function removeCommand(host: CommandHost, ref: CommandRef, signal: AbortSignal): Promise<void> {
  const { home } = host
  const state = await settledState(host, ref, signal)
  if (state !== null && state.ended === null) throw stillRuns(ref)
  // Having written down the end, its shim is gone the next moment.
  const deadline = performance.now() + SHIM_GONE_MS
  while (state !== null && hasShim(host, state) && performance.now() < deadline) await pause(5, signal)
  await withLockFile(host.table, commandLock(home, ref), signal, async () => {
    // A half-started one may run by now; its control groups stay with it.
    const now = await readShimState(home, ref)
    if (now !== null && now.ended === null) throw stillRuns(ref)
    while (!host.removeGroups(ref) && performance.now() < deadline) await pause(5, signal)
    await rm(commandDir(home, ref), { recursive: true, force: true })
  })
  await removeEmptyFolders(home, ref.project)
}

/** Programs' `HOME` goes with the last that could use it. */
async function removeEmptyFolders(home: CommandHost['home'], project: string): Promise<void> {
  const isLast = await rmdir(commandsDir(home, project)).then(
    () => true,
    () => false,
  )
  if (isLast && !(await exists(runDir(home, project)))) {
    // Programs of the project can write there: it goes with their user's rights, and what is left goes the next time.
    for (const path of [homeDir(home, project), tmpDir(home, project)]) await removeGivenFolder(path).catch(() => {})
  }
}

async function refuseWithoutTerminal(host: CommandHost, ref: CommandRef): Promise<void> {
  const state = await readShimState(host.home, ref)
  if (state === null) throw noCommand(ref)
  if (state.ended !== null) throw hasEnded(ref)
  if (state.size !== null) return
  throw new EngineError('engine_cannot', `The command ${ref.id} has no terminal.`, { hint: 'Open a terminal.' })
}

function stillRuns(ref: CommandRef): EngineError {
  return new EngineError('engine_cannot', `The command ${ref.id} still runs.`, { hint: 'End it first.' })
}

function hasEnded(ref: CommandRef): EngineError {
  return new EngineError('engine_cannot', `The command ${ref.id} has ended.`, { hint: 'Start another.' })
}
