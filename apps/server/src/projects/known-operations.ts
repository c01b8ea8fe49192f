import type { OperationRecord } from '@stackquay/contract'
import type { ProjectRow } from '@stackquay/store'
import { type Entries, type Entry, type StatusEvent, tellingOf } from './model-entry.ts'
import type { Telling } from './telling.ts'

/** What runs and waits, as it goes on and ends. */
export interface KnownOperations {
  /** An operation that runs or waits, as it goes on. */
  setOperation(operation: OperationRecord): void
  operationEnded(id: string, project: string | null): void
  /**
   * Before the end of an operation is written: what follows from it, to be written with it. `row` is the project's as it is then, where
   * the end changes it. Null for a project that is not known.
   */
  foreseeEnd(id: string, project: string | null, row: ProjectRow | null): Foreseen | null
}

export interface Foreseen {
  /** What is to be told of the project's status with the end; null when that stays as it is. */
  readonly event: StatusEvent | null
  /** It is written. */
  took(): void
}

export function createKnownOperations(entries: Entries, telling: Telling, now: () => Date): KnownOperations {
  const operationEnded: KnownOperations['operationEnded'] = (id, project) => {
    const entry = project === null ? null : entries.find(project)
    if (project === null || entry === null) return
    entry.operations = without(entry, id)
    telling.touched(project)
  }
  const carriedOut = (row: ProjectRow) => {
    const entry = entries.find(row.id)
    if (entry !== null && isSameSettings(entry, row)) entries.set({ ...entry, row })
  }
  return {
    setOperation: (operation) => {
      const { project } = operation
      const entry = project === null ? null : entries.find(project)
      if (project === null || entry === null) return
      entry.operations = [...without(entry, operation.id), operation].sort(inTurn)
      telling.touched(project)
    },
    operationEnded,
    foreseeEnd: (id, project, row) => {
      const entry = project === null ? null : entries.find(project)
      if (project === null || entry === null) return null
      const ended: Entry = {
        ...entry,
        ...(row !== null && isSameSettings(entry, row) ? { row } : {}),
        operations: without(entry, id),
        json: null,
      }
      const status = entries.derive(ended)
      const told = tellingOf(entry, status, now)
      const { changes } = entry
      return {
        event: told?.event ?? null,
        took: () => {
          if (entries.find(project) === entry && entry.changes === changes) {
            entries.set({ ...ended, ...(told?.after ?? { status }) })
            telling.told(project)
            return
          }
          // Something else happened while it was written: what was foreseen is told, and what is so now is told after it.
          if (row !== null) carriedOut(row)
          operationEnded(id, project)
        },
      }
    },
  }
}

function without({ operations }: Entry, id: string): readonly OperationRecord[] {
  return operations.filter((operation) => operation.id !== id)
}

/** Where they are not, a change came in between: whoever wrote it reads the row again. */
function isSameSettings(entry: Entry, row: ProjectRow): boolean {
  return entry.row.generation === row.generation && entry.row.revision <= row.revision
}

/** What runs before what waits, and that in the order of its ids. */
function inTurn(one: OperationRecord, other: OperationRecord): number {
  if (one.state !== other.state) return one.state === 'running' ? -1 : 1
  return one.id < other.id ? -1 : 1
}
