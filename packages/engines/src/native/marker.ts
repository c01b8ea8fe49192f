import { randomBytes } from 'node:crypto'
import type { CommandRef, WorkloadRef } from '@stackquay/engine-api'
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

/** Begins the markers of a command and of its holder. Its second part stands where a workload's name does. */
export function commandMarkers(home: Home, ref: CommandRef): string {
  return `${home.instance}.${ref.project}.${ref.id}.`
}

/** Begins the markers of what a command runs, without its holder. */
export function commandProgramMarkers(home: Home, ref: CommandRef): string {
  return `${commandMarkers(home, ref)}command.`
}

/** Begins the markers of what this process runs for callers that wait. */
export function execMarkers(machine: Pick<Machine, 'home' | 'table'>, project: string): string {
  return `${machine.home.instance}.${project}.exec.${ownerOf(machine, process.pid)}.`
}

/** Whether it marks such a program of a process that has ended. */
export function isOrphanedExec(machine: Machine, marker: string): boolean {
  const [instance, , kind, owner = ''] = marker.split('.')
  if (instance !== machine.home.instance || kind !== 'exec') return false
  return owner !== ownerOf(machine, Number.parseInt(owner, 10))
}

function ownerOf(machine: Pick<Machine, 'table'>, pid: number): string {
  return `${pid}-${machine.table.find(pid)?.startTime ?? 'gone'}`
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
export function processesMarked(machine: Pick<Machine, 'account' | 'table'>, beginning: string): ProcessEntry[] {
  return machine.table
    .marked(workloadUid(machine))
    .filter(({ marker }) => marker.startsWith(beginning))
    .flatMap(({ pid }) => {
      const entry = machine.table.find(pid)
      return isAlive(entry) ? [entry] : []
    })
}
