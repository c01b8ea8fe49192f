import type { BackupProgram, DatabaseInput, PointInTimeMethod, RecoveryMoment } from '@stackquay/catalog'
import type { Workload } from '@stackquay/engine-api'
import { beside, type DataProgram } from './resolve-backups.ts'
import { resolveConnections } from './resolve-connections.ts'
import { archivePath, databaseInputOf } from './resolve-data.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import { resolveProject } from './resolve-project.ts'
import type { ProjectSpec } from './spec.ts'

/** What is done with one archive of a database here, as the engine runs it. See `PointInTimeMethod`. */
export interface ArchivePrograms {
  readonly workload: Workload
  /** Null for one that is not written any more. */
  readonly mark: DataProgram | null
  readonly look: DataProgram
  prune(before: string): DataProgram
  /** On data of this name. */
  recover(data: string, moment: RecoveryMoment): DataProgram
}

export interface ArchiveOfDatabase {
  readonly database: string
  readonly archive: string
  /** The release line that wrote it. */
  readonly version: string
  /** Whether its server still writes it. */
  readonly isWritten: boolean
}

/** Pure. Null where its type keeps no changes, or its program is not here. */
export function resolveArchive(
  spec: ProjectSpec,
  facts: ResolveFacts,
  { database: name, archive, version, isWritten }: ArchiveOfDatabase,
): ArchivePrograms | null {
  const database = Object.hasOwn(spec.databases, name) ? spec.databases[name] : undefined
  if (database === undefined) return null
  const as: ProjectSpec = { ...spec, databases: { ...spec.databases, [name]: { ...database, version } } }
  const entry = resolveConnections(as, facts).databases.find((one) => one.name === name)
  const workload = resolveProject(as, facts).workloads.find(({ ref }) => ref.workload === entry?.workload)
  const input = entry === undefined ? null : databaseInputOf(entry, facts)
  const method = entry?.known?.kind.pointInTime
  if (entry === undefined || workload === undefined || input === null || method === undefined) return null
  const origin = isWritten ? entry.workload : null
  const archived = { input, archive, origin }
  // Where it is written, the server's own container has all of it.
  const place = (program: BackupProgram) =>
    isWritten ? beside(workload, program) : alone(workload, program, { archive })
  return {
    workload,
    mark: isWritten ? beside(workload, method.mark(archived)) : null,
    look: place(method.look(archived)),
    prune: (before) => place(method.prune(archived, before)),
    recover: (data, moment) => alone(workload, recovery(method, archived, data, moment), { data, archive, origin }),
  }
}

function recovery(
  method: PointInTimeMethod<DatabaseInput>,
  archived: Parameters<PointInTimeMethod<DatabaseInput>['recover']>[0],
  data: string,
  moment: RecoveryMoment,
): BackupProgram {
  return method.recover({ ...archived, input: { ...archived.input, name: data } }, moment)
}

/** In a container of its own, with this data. */
function alone(
  workload: Workload,
  program: BackupProgram,
  {
    data,
    archive,
    origin = null,
  }: { readonly data?: string; readonly archive: string; readonly origin?: string | null },
): DataProgram {
  const { beside: _beside, ...rest } = beside(workload, program)
  const names = [data, archive, origin].flatMap((name) => (name == null ? [] : [name]))
  const mounts = { data: names.map((name) => ({ name })) }
  const { container } = rest
  if (container === undefined) return { ...rest, ...mounts }
  const own = container.data[workload.ref.workload]
  const paths = {
    [archive]: archivePath,
    ...(data === undefined || own === undefined ? {} : { [data]: own }),
    ...(origin === null ? {} : { [origin]: '/stackquay/origin' }),
  }
  return { ...rest, ...mounts, container: { ...container, data: paths } }
}
