import type { WorkloadRef } from '@stackquay/engine-api'
import { locate } from './locate.ts'
import type { Machine } from './machine.ts'
import { hostOfRun } from './ports.ts'
import { readRecord } from './record.ts'
import type { Supervisor } from './supervisor.ts'

/** Where a port of a workload is reached; null while it does not run, or another program answers there. */
export async function addressOf(
  machine: Machine,
  supervisor: Pick<Supervisor, 'monitor'>,
  ref: WorkloadRef,
  name: string,
): Promise<{ readonly host: string; readonly port: number } | null> {
  const record = await readRecord(machine.home, ref)
  const port = record?.ports.find((binding) => binding.name === name)
  const leader = record === null ? null : locate(machine, record)
  if (record === null || port === undefined || leader === null) return null
  const isChecked = record.health.kind !== 'none' && record.health.port === name
  const known = isChecked ? supervisor.monitor(ref)?.state() : undefined
  const host = known?.foreign == null ? (known?.host ?? hostOfRun(machine, { ref, leader }, port)) : null
  return host === null ? null : { host, port: port.hostPort }
}
