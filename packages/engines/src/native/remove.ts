import { readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkloadRef } from '@stackquay/engine-api'
import { removeGivenFolder } from './as-user/trees.ts'
import { orNull } from './errors.ts'
import { endFamily } from './family.ts'
import { commandsDir, homeDir, jobsDir, recordFile, runDir, safe, tmpDir } from './home.ts'
import { suspectsOf } from './isolation/confine.ts'
import { withLock } from './lock.ts'
import type { Machine } from './machine.ts'
import { allMarkers, jobUnit } from './marker.ts'
import { recordedWorkloads } from './record.ts'
import { runTarget } from './run-target.ts'
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
    const { group } = runTarget(machine, ref)
    const target = { leader: null, markers: allMarkers(machine.home, ref), policy, group }
    await endFamily(suspectsOf(machine, ref.project), target, signal)
    group?.remove()
    for (const name of machine.isolation.groups?.units(ref.project) ?? [])
      if (name.startsWith(jobUnit(ref, { name: '' }))) machine.confiner.group(ref.project, name)?.remove()
    await rm(jobsDir(machine.home, ref), { recursive: true, force: true })
    await removeRunFiles(machine, ref)
    await rm(recordFile(machine.home, ref), { force: true })
  })
  if ((await recordedWorkloads(machine.home, ref.project)).length > 0) return
  const left = (await orNull(readdir(runDir(machine.home, ref.project)))) ?? []
  if (left.length > 0) return
  await rmdir(runDir(machine.home, ref.project)).catch(() => {})
  if (await exists(commandsDir(machine.home, ref.project))) return
  await removeHome(machine, ref.project)
}

/** What its programs put there goes with their user's rights; the two folders themselves belong to the service. Best effort: the next time takes the rest. */
async function removeHome(machine: Machine, project: string): Promise<void> {
  for (const path of [homeDir(machine.home, project), tmpDir(machine.home, project)])
    await removeGivenFolder(path).catch(() => {})
}

/** What is left of a project's output once nothing of it runs. */
export async function removeLogs(machine: Pick<Machine, 'home'>, project: string): Promise<void> {
  await rm(join(machine.home.logs, safe(project)), { recursive: true, force: true })
}

/** Exit files, and what a crash left half written; the record and the lock, which the caller holds, are not among them. */
async function removeRunFiles(machine: Machine, ref: WorkloadRef): Promise<void> {
  const directory = runDir(machine.home, ref.project)
  const isRunFile = (name: string) =>
    name.startsWith(`${ref.workload}.`) && (name.endsWith('.exit') || name.endsWith('.tmp'))
  for (const name of (await readdir(directory)).filter(isRunFile)) await rm(join(directory, name), { force: true })
}
