import { setImmediate as turn } from 'node:timers/promises'
import type { Reading } from '@stackquay/engine-api'
import type { Machine } from './machine.ts'
import { isAlive, type ProcessEntry, type Usage } from './process-table.ts'
import type { RunMonitor } from './run-monitor.ts'
import type { Supervisor } from './supervisor.ts'

/** The processes of so many workloads are looked at in one turn of the event loop. */
const together = 10

interface Counted {
  readonly cpuSeconds: number
  readonly readBytes: number | null
  readonly writtenBytes: number | null
  /** What they were added up from: the sums of the processes that lived then. */
  readonly sums: Sums
}
interface Sums {
  readonly cpuSeconds: number
  readonly readBytes: number | null
  readonly writtenBytes: number | null
}

/** Reads all runs that are watched, from one list of processes. */
export function createReadings(machine: Machine, supervisor: Pick<Supervisor, 'monitors'>) {
  let known: ReadonlyMap<string, Counted> = new Map()

  return async function readAll(signal: AbortSignal): Promise<readonly Reading[]> {
    const running = supervisor.monitors().filter(({ state }) => state().ended === null)
    if (running.length === 0) return []
    const find = familiesIn(machine.table.list())
    const counted = new Map<string, Counted>()
    const readings: Reading[] = []
    for (const [index, monitor] of running.entries()) {
      if (index % together === together - 1) await turn(undefined, { signal })
      const processes = find(monitor)
      if (processes.length === 0 || monitor.leader.bootId !== machine.table.bootId()) continue
      const { ref, run } = monitor.record
      const id = run?.id ?? `${monitor.leader.pid} ${monitor.leader.startTime}`
      const usages = processes.map(({ pid }) => machine.table.usage(pid))
      const counts = countOn(known.get(id), sumsOf(processes, usages))
      counted.set(id, counts)
      const { cpuSeconds, readBytes, writtenBytes } = counts
      const memoryBytes = usages.reduce((sum, usage) => sum + usage.memoryBytes, 0)
      const ofNetworks = { receivedBytes: null, sentBytes: null }
      readings.push({
        ref,
        run: id,
        cpuSeconds,
        memoryBytes,
        processes: processes.length,
        readBytes,
        writtenBytes,
        ...ofNetworks,
      })
    }
    known = counted
    return readings
  }
}

/** Its session and group, and all that these started. */
function familiesIn(all: readonly ProcessEntry[]): (monitor: Pick<RunMonitor, 'leader'>) => readonly ProcessEntry[] {
  const [sessions, groups, children] = [
    Map.groupBy(all, ({ session }) => session),
    Map.groupBy(all, ({ group }) => group),
    Map.groupBy(all, ({ parent }) => parent),
  ]
  const byPid = new Map(all.map((entry) => [entry.pid, entry]))
  return ({ leader: { pid, startTime } }) => {
    const leader = byPid.get(pid)
    // Its number belongs to another process by now.
    if (leader !== undefined && leader.startTime !== startTime) return []
    const members = new Set([...(sessions.get(pid) ?? []), ...(groups.get(pid) ?? [])])
    // What is added while it goes on comes up, too.
    for (const member of members) for (const child of children.get(member.pid) ?? []) members.add(child)
    return [...members].filter(isAlive)
  }
}

function sumsOf(processes: readonly ProcessEntry[], usages: readonly Usage[]): Sums {
  return {
    // What a process has waited for is counted with it: it does not go with the child.
    cpuSeconds: processes.reduce((sum, entry) => sum + entry.cpuSeconds + entry.childSeconds, 0),
    readBytes: sumKnown(usages.map((usage) => usage.readBytes)),
    writtenBytes: sumKnown(usages.map((usage) => usage.writtenBytes)),
  }
}

/** Counters do not fall when a process ends that nobody counted on: from then on the rest counts further. */
function countOn(before: Counted | undefined, sums: Sums): Counted {
  const grown = (name: keyof Sums) => {
    const [counted, last, now] = [before?.[name] ?? 0, before?.sums[name] ?? 0, sums[name]]
    return now === null ? (before?.[name] ?? null) : counted + Math.max(0, now - last)
  }
  return {
    cpuSeconds: grown('cpuSeconds') ?? 0,
    readBytes: grown('readBytes'),
    writtenBytes: grown('writtenBytes'),
    sums,
  }
}

function sumKnown(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((number) => number !== null)
  return known.length === 0 ? null : known.reduce((sum, number) => sum + number, 0)
}
