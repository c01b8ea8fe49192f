import { constants } from 'node:fs'
import { open, rmdir } from 'node:fs/promises'
import type { CommandRef, CommandState } from '@stackquay/engine-api'
import { isMissing } from '../errors.ts'
import { endFamily, livingLeader } from '../family.ts'
import { commandDir, commandLock, commandsDir } from '../home.ts'
import { withLockFile } from '../lock.ts'
import { commandMarkers } from '../marker.ts'
import { readCommandRecord, readShimState, segmentPaths, statePath } from './command-files.ts'
import type { CommandHost } from './command-host.ts'
import { outputLogExtent } from './output-log-reader.ts'
import { encodeState, type ShimState } from './shim-state.ts'
import { clearHalfStarted } from './start-command.ts'

/** The state of a command now. One whose shim was killed has ended when this returns, with all that it ran. */
export async function findCommand(
  host: CommandHost,
  ref: CommandRef,
  signal: AbortSignal,
): Promise<CommandState | null> {
  const record = await readCommandRecord(host.home, ref)
  const state = await settledState(host, ref, signal)
  if (record === null || state === null) return null
  const output = await outputLogExtent(segmentPaths(commandDir(host.home, ref))).catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error
  })
  if (output === null) return null
  // Its shim has no rights to.
  if (state.ended !== null) host.removeGroups(ref)
  const { ended, program, size } = state
  return {
    ref: record.ref,
    state: ended === null ? 'running' : 'ended',
    pid: ended === null ? (program?.pid ?? null) : null,
    startedAt: record.startedAt,
    endedAt: ended?.exit.at ?? null,
    exit: ended?.exit ?? null,
    cause: ended?.cause ?? null,
    size,
    output,
  }
}

/** Null when it was never started: then what a crash left of it is cleared away. */
export async function settledState(host: CommandHost, ref: CommandRef, signal: AbortSignal): Promise<ShimState | null> {
  const state = await readShimState(host.home, ref)
  if (state !== null && (state.ended !== null || hasShim(host, state))) return state
  if (state === null && (await readCommandRecord(host.home, ref)) === null) return null
  const lock = commandLock(host.home, ref)
  const settled = await withLockFile(host.table, lock, signal, () => settle(host, ref, 'lost', signal))
  if (settled === null) await rmdir(commandsDir(host.home, ref.project)).catch(() => {})
  return settled
}

export function hasShim(host: CommandHost, state: ShimState): boolean {
  return livingLeader(host.table, state.holder) !== null
}

/** The caller holds the lock. A shim that lives is left alone, unless it was asked to end and did not. */
export async function settle(
  host: CommandHost,
  ref: CommandRef,
  cause: 'lost' | 'cancelled',
  signal: AbortSignal,
): Promise<ShimState | null> {
  const state = (await readShimState(host.home, ref)) ?? (await clearHalfStarted(host, ref, signal))
  if (state === null) return null
  if (state.ended !== null || (cause === 'lost' && hasShim(host, state))) return state
  const policy = { signal: 'SIGTERM', deadlineSeconds: 1 } as const
  const target = { leader: state.program, markers: commandMarkers(host.home, ref), policy, group: host.group(ref) }
  await endFamily(host.suspects(ref.project), target, signal)
  await host.clear(ref, signal)
  // The shim may have ended by itself meanwhile.
  const last = (await readShimState(host.home, ref)) ?? state
  if (last.ended !== null) return last
  const exit = { code: null, signal: null, at: host.now().toISOString() }
  const settled: ShimState = { ...last, number: last.number + 1, ended: { exit, cause } }
  await writeShimState(host, ref, settled)
  return settled
}

async function writeShimState(host: CommandHost, ref: CommandRef, state: ShimState): Promise<void> {
  const file = await open(statePath(commandDir(host.home, ref)), constants.O_RDWR)
  try {
    const { bytes, at } = encodeState(state)
    await file.write(bytes, 0, bytes.length, at)
    await file.datasync()
  } finally {
    await file.close()
  }
}
