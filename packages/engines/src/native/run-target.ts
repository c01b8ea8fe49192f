import type { WorkloadRef } from '@stackquay/engine-api'
import type { ControlGroup } from './isolation/control-groups.ts'
import type { Machine } from './machine.ts'
import { runMarkers, workloadUnit } from './marker.ts'

/** By what every process of a workload's runs is found. */
export function runTarget(
  machine: Machine,
  ref: WorkloadRef,
): { readonly markers: string; readonly group: ControlGroup | null } {
  return { markers: runMarkers(machine.home, ref), group: machine.confiner.group(ref.project, workloadUnit(ref)) }
}
