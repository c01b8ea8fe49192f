import type { ArchiveLook } from '@stackquay/catalog'
import type { ProjectStatus } from '@stackquay/contract'

type Late = Pick<ArchiveLook, 'waiting' | 'waitingSince'>

/** Archives that changes do not get into, as they were seen last. */
export interface LateArchives {
  /** Null: it is not late. Answers whether that is news. */
  set(project: string, database: string, late: Late | null): boolean
  warnings(project: string): ProjectStatus['warnings']
}

export function createLateArchives(): LateArchives {
  const known = new Map<string, Map<string, Late>>()
  return {
    set: (project, database, late) => {
      const its = known.get(project) ?? new Map<string, Late>()
      const before = its.get(database)
      if (late === null) its.delete(database)
      else its.set(database, late)
      known.set(project, its)
      return (before === undefined) !== (late === null)
    },
    warnings: (project) => [...(known.get(project) ?? [])].map(([database, late]) => warningOf(database, late)),
  }
}

function warningOf(database: string, { waiting, waitingSince }: Late): ProjectStatus['warnings'][number] {
  const since = waitingSince === null ? '' : ` since ${waitingSince}`
  return {
    code: 'archive_late',
    detail: `Changes of the database "${database}" do not get into its archive${since}: ${waiting} pieces wait and fill its disk.`,
    hint: 'Look at the free room of the disk and at the log of the database. Until then no moment after that is safe with the archive.',
  }
}
