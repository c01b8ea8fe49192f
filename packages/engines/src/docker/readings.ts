import type { Reading } from '@stackquay/engine-api'
import { askUsage } from './ask-usage.ts'
import { type Meter, meterOf } from './cgroup.ts'
import type { Daemon } from './daemon.ts'
import type { RunMonitor } from './monitor.ts'
import { networkUsage } from './network-usage.ts'
import type { Supervisor } from './supervisor.ts'

/** So many containers are asked for at once where their control groups are not seen. */
const together = 8

/** Reads all containers that are watched: from files alone, where this machine is theirs. */
export function createReadings(daemon: Daemon, supervisor: Pick<Supervisor, 'monitors'>) {
  let meters: ReadonlyMap<string, Meter | null> = new Map()

  return async function readAll(signal: AbortSignal): Promise<readonly Reading[]> {
    const running = supervisor.monitors().filter(({ state }) => state().ended === null)
    const found = new Map<string, Meter | null>()
    for (const { id, pid } of running) found.set(id, meters.get(id) ?? (daemon.isLocal ? meterOf(pid, id) : null))
    meters = found
    const readings: Reading[] = []
    for (let from = 0; from < running.length; from += together) {
      const some = running.slice(from, from + together).map((one) => read(one, signal))
      for (const reading of await Promise.all(some)) if (reading !== null) readings.push(reading)
    }
    return readings
  }

  async function read({ ref, id, pid }: RunMonitor, signal: AbortSignal): Promise<Reading | null> {
    const metered = meters.get(id)?.() ?? null
    const usage = metered === null ? await askUsage(daemon, id, signal) : { ...metered, ...networkUsage(pid) }
    return usage === null ? null : { ref, run: id, ...usage }
  }
}
