import type { Sample } from '@stackquay/engine-api'
import { family } from './family.ts'
import { locate } from './locate.ts'
import type { Machine } from './machine.ts'
import { readRecord, recordedWorkloads } from './record.ts'

/** Measures processes since the previous call for the same project. */
export function createStats(machine: Machine) {
  /** Per process, because a total would jump when one of them ends. */
  const before = new Map<string, { at: number; cpu: ReadonlyMap<string, number> }>()

  return async function sampleProject(project: string): Promise<readonly Sample[]> {
    const samples: Sample[] = []
    const running = new Set<string>()
    for (const ref of await recordedWorkloads(machine.home, project)) {
      const record = await readRecord(machine.home, ref)
      const leader = record === null ? null : locate(machine, record)
      if (leader === null) continue
      const processes = family(machine.table, leader)
      if (processes.length === 0) continue
      const key = `${project}/${ref.workload}/${leader.pid}`
      running.add(key)
      const at = performance.now()
      const cpu = new Map(processes.map((entry) => [`${entry.pid} ${entry.startTime}`, entry.cpuSeconds]))
      const last = before.get(key)
      before.set(key, { at, cpu })
      const usages = processes.map((entry) => machine.table.usage(entry.pid))
      samples.push({
        ref,
        time: machine.now().toISOString(),
        cpu: last === undefined ? null : Math.max(0, used(cpu, last.cpu)) / Math.max((at - last.at) / 1000, 0.001),
        memoryBytes: sum(usages.map((usage) => usage.memoryBytes)),
        processes: processes.length,
        readBytes: sumKnown(usages.map((usage) => usage.readBytes)),
        writtenBytes: sumKnown(usages.map((usage) => usage.writtenBytes)),
      })
    }
    for (const key of before.keys()) if (key.startsWith(`${project}/`) && !running.has(key)) before.delete(key)
    return samples
  }
}

function used(now: ReadonlyMap<string, number>, before: ReadonlyMap<string, number>): number {
  return sum([...now].map(([process, seconds]) => seconds - (before.get(process) ?? 0)))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function sumKnown(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((number) => number !== null)
  return known.length === 0 ? null : sum(known)
}
