import { type Leader, livingLeader } from './family.ts'
import { suspectsOf } from './isolation/confine.ts'
import type { Machine } from './machine.ts'
import { processesMarked } from './marker.ts'
import type { RunRecord } from './record.ts'

/** The living leader of a recorded run. Where the record was cut off before the pid, the run's marker finds it. */
export function locate(machine: Machine, record: RunRecord): Leader | null {
  const { run } = record
  if (run === null || record.phase === 'exited' || record.phase === 'stopped' || record.phase === 'waiting') return null
  if (run.process !== null) return livingLeader(machine.table, run.process) === null ? null : run.process
  const found = processesMarked(suspectsOf(machine, record.ref.project), run.marker).find(
    (entry) => entry.session === entry.pid || entry.group === entry.pid,
  )
  return found === undefined ? null : { pid: found.pid, startTime: found.startTime, bootId: machine.table.bootId() }
}

export function withLeader(record: RunRecord, leader: Leader): RunRecord | null {
  if (record.run === null || record.run.process !== null) return null
  return {
    ...record,
    phase: record.phase === 'starting' ? 'running' : record.phase,
    run: { ...record.run, process: leader },
  }
}
