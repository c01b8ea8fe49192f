import type { BackupProgram, LiveCopyProgram } from '@stackquay/catalog'
import type { CommandProgram, Workload } from '@stackquay/engine-api'
import { resolveConnections } from './resolve-connections.ts'
import { databaseBackup, serviceBackup } from './resolve-data.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import type { Resolved } from './resolve-project.ts'
import type { ProjectSpec } from './spec.ts'

/** What is run beside a workload for a backup of its data, as the engine runs it. */
export interface BackupPrograms {
  readonly workload: Workload
  /** Writes the data as a tar while the workload runs; null: it is copied while it is stopped. */
  readonly online: DataProgram | null
  /** Prints what is in the data; null: nobody counts it. */
  readonly contents: DataProgram | null
  /** Holds the data while its files are copied; null: it is copied while it is stopped. */
  readonly live: LiveProgram | null
}

export interface LiveProgram extends DataProgram, Pick<LiveCopyProgram, 'leftOut' | 'later'> {}

export interface DataProgram extends CommandProgram {
  /** The folder of the data that its tar is the content of; absent: the whole. */
  readonly prefix?: string
}

/** Pure: of every workload with kept data that can run here, how its data is taken and counted. */
export function resolveBackups(
  spec: ProjectSpec,
  facts: ResolveFacts,
  { workloads }: Pick<Resolved, 'workloads'>,
): readonly BackupPrograms[] {
  const { services, databases } = resolveConnections(spec, facts)
  const all = [
    ...services.filter(({ runsHere }) => runsHere).map((service) => serviceBackup(service, facts)),
    ...databases.map((database) => databaseBackup(database, facts)),
  ]
  return all.flatMap(({ workload: name, ...programs }) => {
    const workload = workloads.find(({ ref }) => ref.workload === name)
    if (workload === undefined) return []
    const online = orNull(workload, programs.online)
    const contents = orNull(workload, programs.contents)
    const live = orNull(workload, programs.live)
    return [{ workload, online, contents, live: live as LiveProgram | null }]
  })
}

function orNull(workload: Workload, program: BackupProgram | null): DataProgram | null {
  return program === null ? null : beside(workload, program)
}

/** A program with the data, the container and the limits of the workload that it runs beside. */
export function beside({ data, run }: Workload, program: BackupProgram): DataProgram {
  const { container, limits } = run
  return {
    ...program,
    data,
    ...(container === undefined ? {} : { container }),
    ...(limits === undefined ? {} : { limits }),
  }
}
