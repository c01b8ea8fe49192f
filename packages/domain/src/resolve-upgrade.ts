import type { DatabaseInput, DumpProgram, UpgradeComparison, UpgradeMethod, UpgradePair } from '@stackquay/catalog'
import type { Workload } from '@stackquay/engine-api'
import { beside, type DataProgram } from './resolve-backups.ts'
import { resolveConnections } from './resolve-connections.ts'
import { databaseInputOf } from './resolve-data.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import { resolveProject } from './resolve-project.ts'
import type { ProjectSpec } from './spec.ts'

/** How the data of one database becomes that of another release line here, as the engine runs it. */
export type DatabaseUpgrade = UpgradeWorkloads & (PlacedAnew | PlacedInPlace)

interface UpgradeWorkloads {
  /** With the program of the line that wrote the data, and with that of the other one. */
  readonly old: Workload
  readonly next: Workload
  /** A command for programs that are missing. */
  readonly install: string
}

/** See `UpgradeAnew`. */
export interface PlacedAnew {
  readonly manner: 'anew'
  readonly check: DataProgram
  readonly look: DataProgram
  transfers(
    names: readonly string[],
  ): readonly { readonly title: string; readonly read: DataProgram; readonly write: DataProgram }[]
  readonly count: { readonly before: DataProgram; readonly after: DataProgram }
  compare(before: string, after: string): UpgradeComparison
  readonly swap: DataProgram
  readonly undo: DataProgram
  readonly finish: DataProgram
}

export interface PlacedInPlace {
  readonly manner: 'in-place'
  readonly convert: DataProgram
}

/** Pure. Null where its type has no upgrades, or the program of one of the two lines is not here. */
export function resolveUpgrade(
  spec: ProjectSpec,
  facts: ResolveFacts,
  name: string,
  versions: { readonly from: string; readonly to: string },
): DatabaseUpgrade | null {
  const [old, next] = [versions.from, versions.to].map((version) => sideOf(spec, facts, name, version))
  const method = old?.method
  if (old == null || next == null || method === undefined) return null
  const pair = { old: old.input, next: next.input }
  const workloads = { old: old.workload, next: next.workload, install: method.installClients(versions.to) }
  return { ...workloads, ...placed(method, pair, workloads) }
}

interface Side {
  readonly input: DatabaseInput
  readonly workload: Workload
  readonly method: UpgradeMethod<DatabaseInput> | undefined
}

/** As the project would be with that version of the database. */
function sideOf(spec: ProjectSpec, facts: ResolveFacts, name: string, version: string): Side | null {
  const database = Object.hasOwn(spec.databases, name) ? spec.databases[name] : undefined
  if (database === undefined) return null
  const as: ProjectSpec = { ...spec, databases: { ...spec.databases, [name]: { ...database, version } } }
  const entry = resolveConnections(as, facts).databases.find((one) => one.name === name)
  const workload = resolveProject(as, facts).workloads.find(({ ref }) => ref.workload === entry?.workload)
  const input = entry === undefined ? null : databaseInputOf(entry, facts)
  if (entry === undefined || input === null || workload === undefined) return null
  return { input, workload, method: entry.known?.kind.upgrade }
}

function placed(
  method: UpgradeMethod<DatabaseInput>,
  pair: UpgradePair<DatabaseInput>,
  { old, next }: Pick<UpgradeWorkloads, 'old' | 'next'>,
): PlacedAnew | PlacedInPlace {
  const withOld = (program: DumpProgram) => beside(old, program)
  const withNext = (program: DumpProgram) => beside(next, program)
  if (method.manner === 'in-place') return { manner: 'in-place', convert: withNext(method.convert(pair)) }
  const { before, after } = method.count(pair)
  return {
    manner: 'anew',
    check: withNext(method.check(pair)),
    look: withOld(method.look(pair)),
    transfers: (names) =>
      method.transfers(pair, names).map(({ title, read, write }) => ({
        title,
        read: withOld(read),
        write: withNext(write),
      })),
    count: { before: withOld(before), after: withNext(after) },
    compare: method.compare,
    swap: withNext(method.swap(pair)),
    undo: withOld(method.undo(pair)),
    finish: withNext(method.finish(pair)),
  }
}
