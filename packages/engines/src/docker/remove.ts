import { readdir, rm, rmdir } from 'node:fs/promises'
import type { WorkloadRef } from '@stackquay/engine-api'
import { orNull } from '../native/errors.ts'
import { jobsDir, recordFile, runDir } from '../native/home.ts'
import { discard } from './create-container.ts'
import { findContainer, listContainers } from './find.ts'
import { WORKLOAD } from './labels.ts'
import type { DockerMachine } from './machine.ts'
import { removeNetwork } from './networks.ts'
import { removeChoice } from './record.ts'
import { forget } from './start.ts'
import { stopLocked, withLock } from './stop.ts'

/** Forgets a workload: containers, then the record, so that a crash in between is finished next time. Kept data and logs stay. */
export async function removeWorkload(machine: DockerMachine, ref: WorkloadRef, signal: AbortSignal): Promise<void> {
  const { daemon } = machine
  await withLock(daemon, ref, signal, async () => {
    await stopLocked(machine, ref, null, signal)
    const found = await findContainer(daemon, ref)
    if (found !== null) await forget(machine, found, signal)
    await removeJobs(machine, ref)
    await rm(jobsDir(daemon.home, ref), { recursive: true, force: true })
    await removeChoice(daemon.home, ref)
    await rm(recordFile(daemon.home, ref), { force: true })
  })
  await removeNetwork(daemon, ref.project)
  const left = (await orNull(readdir(runDir(daemon.home, ref.project)))) ?? []
  if (left.length === 0) await rmdir(runDir(daemon.home, ref.project)).catch(() => {})
}

/** Jobs of it that a crash cut off. */
async function removeJobs({ daemon }: DockerMachine, ref: WorkloadRef): Promise<void> {
  for (const { Id, Labels } of await listContainers(daemon, 'job', ref.project)) {
    if (Labels[WORKLOAD] === ref.workload) await discard(daemon.docker.getContainer(Id))
  }
}
