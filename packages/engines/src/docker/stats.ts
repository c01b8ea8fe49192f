import type { Sample, WorkloadRef } from '@stackquay/engine-api'
import { askUsage } from './ask-usage.ts'
import { type Meter, meterOf } from './cgroup.ts'
import type { Daemon } from './daemon.ts'
import { isRunning } from './exit.ts'
import { findContainers } from './find.ts'
import type { Supervisor } from './supervisor.ts'

interface Running {
  readonly ref: WorkloadRef
  readonly id: string
  readonly pid: number
}

interface Measuring {
  readonly meter: Meter | null
  /** At the previous sample; null before the first. */
  last: { readonly at: number; readonly cpuSeconds: number } | null
}

/** Measures containers since the previous call for the same project. Of those that are watched Docker is asked nothing. */
export function createStats(daemon: Daemon, supervisor: Pick<Supervisor, 'monitors'>) {
  const measured = new Map<string, Measuring>()

  return async function sampleProject(project: string, signal: AbortSignal): Promise<readonly Sample[]> {
    const watched = supervisor.monitors().filter(({ ref, state }) => ref.project === project && state().ended === null)
    const running = watched.length > 0 ? watched : await findRunning(project, signal)
    const samples = await Promise.all(running.map((one) => sample(one, signal)))
    const living = new Set(running.map(keyOf))
    for (const key of measured.keys()) if (key.startsWith(`${project}/`) && !living.has(key)) measured.delete(key)
    return samples.filter((one) => one !== null)
  }

  async function findRunning(project: string, signal: AbortSignal): Promise<readonly Running[]> {
    const found = await findContainers(daemon, project, signal)
    return found.flatMap(({ ref, id, info }) => (isRunning(info) ? [{ ref, id, pid: info.State.Pid }] : []))
  }

  async function sample(running: Running, signal: AbortSignal): Promise<Sample | null> {
    const { ref, id } = running
    const measuring = measured.get(keyOf(running)) ?? begin(running)
    const usage = measuring.meter?.() ?? (await askUsage(daemon, id, signal))
    if (usage === null) return null
    const at = performance.now()
    const { last } = measuring
    const { cpuSeconds, memoryBytes, processes, readBytes, writtenBytes } = usage
    measuring.last = { at, cpuSeconds }
    const spent = last === null ? 0 : cpuSeconds - last.cpuSeconds
    return {
      ref,
      time: daemon.now().toISOString(),
      cpu: last === null ? null : Math.max(0, spent) / Math.max((at - last.at) / 1000, 0.001),
      memoryBytes,
      processes,
      readBytes,
      writtenBytes,
    }
  }

  function begin(running: Running): Measuring {
    const meter = daemon.isLocal ? meterOf(running.pid, running.id) : null
    const measuring: Measuring = { meter, last: null }
    measured.set(keyOf(running), measuring)
    return measuring
  }
}

const keyOf = ({ ref, id }: Pick<Running, 'ref' | 'id'>) => `${ref.project}/${ref.workload}/${id}`
