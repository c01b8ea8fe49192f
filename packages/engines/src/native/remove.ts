import { readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkloadRef } from '@stackquay/engine-api'
import { orNull } from './errors.ts'
import { endFamily } from './family.ts'
import { commandsDir, homeDir, jobsDir, recordFile, runDir, safe } from './home.ts'
import { withLock } from './lock.ts'
import type { Machine } from './machine.ts'
import { allMarkers } from './marker.ts'
import { recordedWorkloads } from './record.ts'
import { stopLocked } from './stop.ts'
import type { Supervisor } from './supervisor.ts'
import { exists } from './waiting.ts'

/** Forgets a workload: processes and record, which goes last, so that a crash in between is finished next time. Kept data and logs stay. */
export async function removeWorkload(
  machine: Machine,
  supervisor: Supervisor,
  ref: WorkloadRef,
  signal: AbortSignal,
): Promise<void> {
  await withLock(machine, ref, signal, async () => {
    await stopLocked(machine, supervisor, ref, null, signal)
    const policy = { signal: 'SIGTERM', deadlineSeconds: 1 } as const
    await endFamily(machine, { leader: null, markers: allMarkers(machine.home, ref), policy }, signal)
    await rm(jobsDir(machine.home, ref), { recursive: true, force: true })
    await removeRunFiles(machine, ref)
    await rm(recordFile(machine.home, ref), { force: true })
  })
  if ((await recordedWorkloads(machine.home, ref.project)).length > 0) return
  const left = (await orNull(readdir(runDir(machine.home, ref.project)))) ?? []
  if (left.length > 0) return
  await rmdir(runDir(machine.home, ref.project)).catch(() => {})
  if (await exists(commandsDir(machine.home, ref.project))) return
  await rm(homeDir(machine.home, ref.project), { recursive: true, force: true })
}

/** What is left of a project's output once nothing of it runs. */
export async function removeLogs(machine: Pick<Machine, 'home'>, project: string): Promise<void> {
  await rm(join(machine.home.logs, safe(project)), { recursive: true, force: true })
}

/** Exit files, and what a crash left half written; the record and the lock, which we hold, are not among them. */
async function removeRunFiles(machine: Machine, ref: WorkloadRef): Promise<void> {
  const directory = runDir(machine.home, ref.project)
  const ours = (name: string) =>
    name.startsWith(`${ref.workload}.`) && (name.endsWith('.exit') || name.endsWith('.tmp'))
  for (const name of (await readdir(directory)).filter(ours)) await rm(join(directory, name), { force: true })
}
