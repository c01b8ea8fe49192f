import { constants } from 'node:fs'
import { open, rmdir } from 'node:fs/promises'
import type { CommandRef, CommandState } from '@stackquay/engine-api'
import { isMissing } from '../errors.ts'
import { endFamily, livingLeader } from '../family.ts'
import { commandDir, commandLock, commandsDir } from '../home.ts'
import { withLockFile } from '../lock.ts'
import type { Machine } from '../machine.ts'
import { commandMarkers } from '../marker.ts'
import { readCommandRecord, readHolderState, segmentPaths, statePath } from './command-files.ts'
import { encodeState, type HolderState } from './holder-state.ts'
import { journalExtent } from './journal-reader.ts'
import { clearHalfStarted } from './start-command.ts'

/** What is true of a command now. One whose holder was killed has ended when this returns, with all that it ran. */
export async function findCommand(
  machine: Machine,
  ref: CommandRef,
  signal: AbortSignal,
): Promise<CommandState | null> {
  const record = await readCommandRecord(machine.home, ref)
  const state = await settledState(machine, ref, signal)
  if (record === null || state === null) return null
  const output = await journalExtent(segmentPaths(commandDir(machine.home, ref))).catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error
  })
  if (output === null) return null
  const { ended, program, size } = state
  return {
    ref: record.ref,
    state: ended === null ? 'running' : 'ended',
    pid: ended === null ? program.pid : null,
    startedAt: record.startedAt,
    endedAt: ended?.exit.at ?? null,
    exit: ended?.exit ?? null,
    cause: ended?.cause ?? null,
    size,
    output,
  }
}

/** Null when it was never started: then what a crash left of it is cleared away. */
export async function settledState(
  machine: Machine,
  ref: CommandRef,
  signal: AbortSignal,
): Promise<HolderState | null> {
  const state = await readHolderState(machine.home, ref)
  if (state !== null && (state.ended !== null || isHeld(machine, state))) return state
  if (state === null && (await readCommandRecord(machine.home, ref)) === null) return null
  const lock = commandLock(machine.home, ref)
  const settled = await withLockFile(machine.table, lock, signal, () => settle(machine, ref, 'lost', signal))
  if (settled === null) await rmdir(commandsDir(machine.home, ref.project)).catch(() => {})
  return settled
}

export function isHeld(machine: Machine, state: HolderState): boolean {
  return livingLeader(machine.table, state.holder) !== null
}

/** The caller holds the lock. A holder that lives is left alone, unless it was asked to end and did not. */
export async function settle(
  machine: Machine,
  ref: CommandRef,
  cause: 'lost' | 'cancelled',
  signal: AbortSignal,
): Promise<HolderState | null> {
  const state = (await readHolderState(machine.home, ref)) ?? (await clearHalfStarted(machine, ref, signal))
  if (state === null) return null
  if (state.ended !== null || (cause === 'lost' && isHeld(machine, state))) return state
  const policy = { signal: 'SIGTERM', deadlineSeconds: 1 } as const
  await endFamily(machine, { leader: state.program, markers: commandMarkers(machine.home, ref), policy }, signal)
  // The holder may have come to its own end meanwhile.
  const last = (await readHolderState(machine.home, ref)) ?? state
  if (last.ended !== null) return last
  const exit = { code: null, signal: null, at: machine.now().toISOString() }
  const settled: HolderState = { ...last, number: last.number + 1, ended: { exit, cause } }
  await writeHolderState(machine, ref, settled)
  return settled
}

async function writeHolderState(machine: Machine, ref: CommandRef, state: HolderState): Promise<void> {
  const file = await open(statePath(commandDir(machine.home, ref)), constants.O_RDWR)
  try {
    const { bytes, at } = encodeState(state)
    await file.write(bytes, 0, bytes.length, at)
    await file.datasync()
  } finally {
    await file.close()
  }
}
