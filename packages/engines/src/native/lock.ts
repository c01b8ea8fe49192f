import { randomBytes } from 'node:crypto'
import { mkdir, readlink, rename, rm, symlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { WorkloadRef } from '@stackquay/engine-api'
import { errorCode, orNull, throwIfAborted } from './errors.ts'
import { lockFile } from './home.ts'
import type { Machine } from './machine.ts'
import type { ProcessTable } from './process-table.ts'
import { pause } from './time.ts'

/** Within this process: who waits for which workload, in order. */
const queues = new Map<string, Promise<unknown>>()

/**
 * Runs `act` while no other caller changes this workload, neither in this process nor in another one over the same home.
 * A lock whose owner died is taken over.
 */
export function withLock<T>(
  machine: Machine,
  ref: WorkloadRef,
  signal: AbortSignal,
  act: () => Promise<T>,
): Promise<T> {
  return withLockFile(machine.table, lockFile(machine.home, ref), signal, act)
}

export async function withLockFile<T>(
  table: ProcessTable,
  path: string,
  signal: AbortSignal,
  act: () => Promise<T>,
): Promise<T> {
  const before = queues.get(path) ?? Promise.resolve()
  const mine = Promise.withResolvers<void>()
  const tail = before.then(() => mine.promise)
  queues.set(path, tail)
  try {
    await until(before, signal)
    await acquire(table, path, signal)
    try {
      return await act()
    } finally {
      await rm(path, { force: true })
    }
  } finally {
    mine.resolve()
    void tail.then(() => queues.get(path) === tail && queues.delete(path))
  }
}

async function until(before: Promise<unknown>, signal: AbortSignal): Promise<void> {
  throwIfAborted(signal)
  const aborted = Promise.withResolvers<void>()
  const onAbort = () => aborted.resolve()
  signal.addEventListener('abort', onAbort, { once: true })
  await Promise.race([before, aborted.promise])
  signal.removeEventListener('abort', onAbort)
  throwIfAborted(signal)
}

/** The lock is a symbolic link to its owner's identity: made in one act, never half, and without needing disk space. */
async function acquire(table: ProcessTable, path: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    throwIfAborted(signal)
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await symlink(identity(table, process.pid), path)
      return
    } catch (error) {
      // ENOENT: another process removed the empty directory in between.
      if (errorCode(error) === 'ENOENT') continue
      if (errorCode(error) !== 'EEXIST') throw error
    }
    const owner = await orNull(readlink(path))
    if (owner === null) continue
    if (owner === identity(table, Number.parseInt(owner, 10))) await pause(20, signal)
    else await takeAway(path, owner)
  }
}

/** Of two that find the same dead lock, the slower one may catch a living lock here; it puts that one back. */
async function takeAway(path: string, dead: string): Promise<void> {
  const taken = `${path}.${randomBytes(6).toString('hex')}.tmp`
  await orNull(rename(path, taken))
  const caught = await orNull(readlink(taken))
  if (caught !== null && caught !== dead) await symlink(caught, path).catch(() => {})
  await rm(taken, { force: true })
}

function identity(table: ProcessTable, pid: number): string {
  return `${pid} ${table.find(pid)?.startTime ?? 'gone'} ${table.bootId()}`
}
