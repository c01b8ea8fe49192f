import { randomBytes } from 'node:crypto'
import type { CommandRef, WorkloadRef } from '@stackquay/engine-api'
import type { Home } from './home.ts'
import type { Machine } from './machine.ts'
import { isAlive, type ProcessEntry, type ProcessTable } from './process-table.ts'

/*
 * Every process of a workload inherits `STACKQUAY_RUN=<instance>.<project>.<workload>.<kind>.<id>`. It is what finds a
 * process again when the control plane died between starting it and writing its pid down, and what finds children that
 * left the process group. Parts hold no dot.
 */

export function newRunId(): string {
  return randomBytes(9).toString('hex')
}

export const isRunId = (text: string): boolean => /^[0-9a-f]{18}$/.test(text)

export function runMarker(home: Home, ref: WorkloadRef, run: string): string {
  return `${runMarkers(home, ref)}${run}`
}

/** Begins the markers of all runs of one workload, without its jobs. */
export function runMarkers(home: Home, ref: WorkloadRef): string {
  return `${allMarkers(home, ref)}run.`
}

/** Names of control groups: what was started for one workload, job or command lies in one of its own. */
export const workloadUnit = (ref: WorkloadRef): string => `w-${ref.workload}`
export const jobUnit = (ref: WorkloadRef, job: { readonly name: string }): string => `j-${ref.workload}.${job.name}`
/** The process that holds a command, which no limit of the project may end. */
export const shimUnit = (ref: Pick<CommandRef, 'id'>): string => `h-${ref.id}`
export const isCommandUnit = (unit: string): boolean => /^[ch]-/.test(unit)
export const commandUnit = (ref: Pick<CommandRef, 'id'>): string => `c-${ref.id}`

export function jobMarkers(home: Home, ref: WorkloadRef, job: string): string {
  return `${allMarkers(home, ref)}job.${job}.`
}

/** Begins the markers of a command and of its shim. Its second part stands where a workload's name does. */
export function commandMarkers(home: Home, ref: CommandRef): string {
  return `${home.instance}.${ref.project}.${ref.id}.`
}

/** Begins the markers of what a command runs, without its shim. */
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

/** Among whose processes those of a project are looked for. A marker in a process of any other user means nothing. */
export interface Suspects {
  readonly table: ProcessTable
  readonly uids: ReadonlySet<number>
}

/** Living processes whose marker begins so. */
export function processesMarked(suspects: Suspects, beginning: string): ProcessEntry[] {
  return suspects.table
    .marked(suspects.uids)
    .filter(({ marker }) => marker.startsWith(beginning))
    .flatMap(({ pid }) => {
      const entry = suspects.table.find(pid)
      return isAlive(entry) ? [entry] : []
    })
}
