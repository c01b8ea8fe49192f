import type { ContainerUsage } from './cgroup.ts'
import type { Daemon } from './daemon.ts'
import { orAbsent } from './errors.ts'
import { ask } from './wire/request.ts'
import { targetOf } from './wire/target.ts'

export interface AskedUsage extends ContainerUsage {
  readonly receivedBytes: number | null
  readonly sentBytes: number | null
}

/** Of a container whose control groups are not seen from here. `one-shot`: without waiting for a second sample. */
export async function askUsage(daemon: Daemon, id: string, signal: AbortSignal): Promise<AskedUsage | null> {
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
  const networks = stats.networks === undefined ? null : Object.values(stats.networks)
  return {
    cpuSeconds: stats.cpu_stats.cpu_usage.total_usage / 1e9,
    memoryBytes: Math.max(0, usage - cached),
    processes: stats.pids_stats.current ?? 0,
    readBytes: bytesOf('read'),
    writtenBytes: bytesOf('write'),
    receivedBytes: networks?.reduce((sum, { rx_bytes: bytes }) => sum + bytes, 0) ?? null,
    sentBytes: networks?.reduce((sum, { tx_bytes: bytes }) => sum + bytes, 0) ?? null,
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
  readonly networks?: Readonly<Record<string, { readonly rx_bytes: number; readonly tx_bytes: number }>>
}
