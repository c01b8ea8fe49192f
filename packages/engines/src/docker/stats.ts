import type { Sample, WorkloadRef } from '@stackquay/engine-api'
import { type ContainerUsage, type Meter, meterOf } from './cgroup.ts'
import type { Daemon } from './daemon.ts'
import { orAbsent } from './errors.ts'
import { isRunning } from './exit.ts'
import { findContainers } from './find.ts'
import type { Supervisor } from './supervisor.ts'
import { ask } from './wire/request.ts'
import { targetOf } from './wire/target.ts'

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
    const usage = measuring.meter?.() ?? (await askDocker(id, signal))
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

  /** Where its control groups are not seen from here. `one-shot`: without waiting for a second sample. */
  async function askDocker(id: string, signal: AbortSignal): Promise<ContainerUsage | null> {
    const question = `/containers/${id}/stats?stream=false&one-shot=true`
    const stats = (await orAbsent(ask(await targetOf(daemon.docker), 'GET', question, { signal }))) as Stats | null
    if (stats?.memory_stats.usage === undefined) return null
    const blocks = stats.blkio_stats.io_service_bytes_recursive
    const bytesOf = (wanted: string) =>
      blocks == null || blocks.length === 0
        ? null
        : blocks.filter(({ op }) => op.toLowerCase() === wanted).reduce((sum, { value }) => sum + value, 0)
    const { usage, stats: parts } = stats.memory_stats
    const cached = parts?.total_inactive_file ?? parts?.inactive_file ?? 0
    return {
      cpuSeconds: stats.cpu_stats.cpu_usage.total_usage / 1e9,
      memoryBytes: Math.max(0, usage - cached),
      processes: stats.pids_stats.current ?? 0,
      readBytes: bytesOf('read'),
      writtenBytes: bytesOf('write'),
    }
  }
}

/** The used part of Docker's answer. */
interface Stats {
  readonly cpu_stats: { readonly cpu_usage: { readonly total_usage: number } }
  readonly memory_stats: {
    readonly usage?: number
    readonly stats?: { readonly total_inactive_file?: number; readonly inactive_file?: number }
  }
  readonly pids_stats: { readonly current?: number }
  readonly blkio_stats: {
    readonly io_service_bytes_recursive?: readonly { readonly op: string; readonly value: number }[] | null
  }
}

const keyOf = ({ ref, id }: Pick<Running, 'ref' | 'id'>) => `${ref.project}/${ref.workload}/${id}`
