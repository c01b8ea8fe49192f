import type { DumpLoad, DumpMethod, DumpProgram } from '@stackquay/catalog'
import type { Workload } from '@stackquay/engine-api'
import { beside, type DataProgram } from './resolve-backups.ts'
import { resolveConnections } from './resolve-connections.ts'
import { databaseInputOf } from './resolve-data.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import type { Resolved } from './resolve-project.ts'
import type { ProjectSpec } from './spec.ts'

/** How one database is exported and imported here, as the engine runs it. */
export interface DatabaseDump extends Pick<DumpMethod<never>, 'formats' | 'isAtomic' | 'reader'> {
  readonly workload: Workload
  /** A command for the client programs where they are missing. */
  readonly install: string
  look(): DataProgram
  write(format: string): DataProgram
  load(load: DumpLoad): DataProgram
  clean(empties: boolean): DataProgram | null
}

/** Pure. Null where its type has no dumps, or its program is not here. */
export function resolveDump(
  spec: ProjectSpec,
  facts: ResolveFacts,
  { workloads }: Pick<Resolved, 'workloads'>,
  name: string,
): DatabaseDump | null {
  const entry = resolveConnections(spec, facts).databases.find((one) => one.name === name)
  const method = entry?.known?.kind.dump
  const workload = workloads.find(({ ref }) => ref.workload === entry?.workload)
  const input = entry === undefined ? null : databaseInputOf(entry, facts)
  if (entry === undefined || method === undefined || workload === undefined || input === null) return null
  const placed = (program: DumpProgram) => beside(workload, program)
  const { formats, isAtomic, reader } = method
  return {
    ...{ workload, formats, isAtomic, reader },
    install: method.installClients(entry.database.version),
    look: () => placed(method.look(input)),
    write: (format) => placed(method.write(input, format)),
    load: (load) => placed(method.load(input, load)),
    clean: (empties) => {
      const program = method.clean(input, empties)
      return program === null ? null : placed(program)
    },
  }
}
