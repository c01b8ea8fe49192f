import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Exit } from '@stackquay/engine-api'
import { orNull } from './errors.ts'
import { exitOf } from './exit-status.ts'
import { exitFile } from './home.ts'
import { limitedExit } from './limit-watch.ts'
import type { Machine } from './machine.ts'
import type { RunRecord } from './record.ts'
import { runTarget } from './run-target.ts'

/** How a run ended, as its own shell wrote it down; null while it has not, or when the shell was killed too. */
export async function readExit(machine: Machine, record: RunRecord): Promise<Exit | null> {
  if (record.run === null) return null
  const path = exitFile(machine.home, record.ref, record.run.id)
  const file = await orNull(open(path, constants.O_RDONLY | constants.O_NOFOLLOW))
  if (file === null) return null
  try {
    const text = await file.readFile('latin1')
    const { mtime } = await file.stat()
    return /^\d{1,3}\n$/.test(text) ? exitOf(Number(text), mtime) : null
  } finally {
    await file.close()
  }
}

/** The same of a run that ended by itself while no instance watched it: its control group still knows whether that was for its limits. */
export async function readUnseenExit(machine: Machine, record: RunRecord): Promise<Exit | null> {
  const exit = await readExit(machine, record)
  if (exit === null) return null
  return limitedExit(exit, runTarget(machine, record.ref).group)
}
