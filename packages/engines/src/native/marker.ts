import { randomBytes } from 'node:crypto'
import type { WorkloadRef } from '@stackquay/engine-api'
import type { Home } from './home.ts'
import { type Machine, workloadUid } from './machine.ts'
import { isAlive, type ProcessEntry } from './process-table.ts'

/*
 * Every process of a workload inherits `STACKQUAY_RUN=<instance>.<project>.<workload>.<kind>.<id>`. It is what finds a
 * process again when the control plane died between starting it and writing its pid down, and what finds children that
 * left the process group. Parts hold no dot.
 */

export function newRunId(): string {
  return randomBytes(9).toString('hex')
}

export function runMarker(home: Home, ref: WorkloadRef, run: string): string {
  return `${runMarkers(home, ref)}${run}`
}

/** Begins the markers of all runs of one workload, without its jobs. */
export function runMarkers(home: Home, ref: WorkloadRef): string {
  return `${allMarkers(home, ref)}run.`
}

export function jobMarkers(home: Home, ref: WorkloadRef, job: string): string {
  return `${allMarkers(home, ref)}job.${job}.`
}

/** Begins the markers of everything that was ever started for one workload. */
export function allMarkers(home: Home, ref: WorkloadRef): string {
  return `${home.instance}.${ref.project}.${ref.workload}.`
}

/** Which workload of this installation a marker names; null for another installation's. */
export function refOfMarker(home: Home, marker: string): WorkloadRef | null {
  const [instance, project, workload] = marker.split('.')
  return instance === home.instance && project && workload ? { project, workload } : null
}

/** Living processes whose marker begins so. */
export function processesMarked(machine: Machine, beginning: string): ProcessEntry[] {
  return machine.table
    .marked(workloadUid(machine))
    .filter(({ marker }) => marker.startsWith(beginning))
    .flatMap(({ pid }) => {
      const entry = machine.table.find(pid)
      return isAlive(entry) ? [entry] : []
    })
}
