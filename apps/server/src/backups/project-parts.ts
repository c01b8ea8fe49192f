import { runtimeTypes } from '@stackquay/catalog'
import {
  type BackupPrograms,
  databaseWorkload,
  filesPart,
  localFolders,
  type PartKind,
  type ProjectPart,
  partsOf,
  settingsPart,
} from '@stackquay/domain'
import type { Engine, Observed } from '@stackquay/engine-api'
import { type Accounts, sizeAsUser } from '@stackquay/engines'
import type { ProjectRow, Store } from '@stackquay/store'
import { readerOf } from '../projects/files-of.ts'
import type { Resolver } from '../projects/resolver.ts'

export interface PartsDeps {
  readonly accounts: Pick<Accounts, 'known'>
  readonly store: Store
  readonly engine: Engine
  readonly resolver: Pick<Resolver, 'backups'>
}

/** The parts of a project as it is now, and with what those are taken that run. */
export interface FoundParts {
  readonly parts: readonly ProjectPart[]
  readonly programs: readonly BackupPrograms[]
  readonly observed: readonly Observed[]
}

export async function findParts(
  row: ProjectRow,
  { store, engine, resolver }: Omit<PartsDeps, 'accounts'>,
  signal: AbortSignal,
): Promise<FoundParts> {
  const [data, kept, observed, programs] = await Promise.all([
    engine.dataNames(row.id, signal),
    store.keptData.of(row.id),
    engine.observe(row.id, signal),
    resolver.backups(row),
  ])
  const running = observed.filter(({ state }) => state === 'running')
  const parts = partsOf(row.spec, {
    data,
    writtenBy: (name) => kept.find((one) => one.name === name)?.version ?? null,
    runs: (workload) => running.some(({ ref }) => ref.workload === workload),
    // One that runs with other settings than those of now has another port or password than the program would use.
    online: (name) =>
      programs.some(
        ({ workload, online }) =>
          workload.ref.workload === name &&
          online !== null &&
          running.some(({ fingerprint }) => fingerprint === workload.fingerprint),
      ),
  })
  return { parts, programs, observed }
}

/** Bytes on disk of these parts: more than a backup of them has, because that is compressed. */
export async function sizeOfParts(
  row: ProjectRow,
  parts: readonly Pick<ProjectPart, 'id' | 'data'>[],
  { engine, accounts }: Pick<PartsDeps, 'engine' | 'accounts'>,
  signal: AbortSignal,
): Promise<number> {
  const names = parts.flatMap(({ data }) => (data === null ? [] : [data]))
  const data = names.length === 0 ? [] : await engine.data(row.id, signal)
  const files = parts.some(({ id }) => id === filesPart)
    ? await sizeAsUser(await readerOf(accounts, row), row.path, { signal, without: localFolders })
    : 0
  return data.reduce((sum, { name, sizeBytes }) => sum + (names.includes(name) ? sizeBytes : 0), files ?? 0)
}

/** Names of folders that the project's runtimes make again. */
export function rebuildableOf({ spec }: Pick<ProjectRow, 'spec'>): readonly string[] {
  const names = runtimeTypes.flatMap(({ name, rebuildable }) => (name in spec.runtimes ? rebuildable : []))
  return [...new Set(names)].sort()
}

/** The parts that a backup of these ids takes now. Settings are always among them: they open the data. */
export function withChosen(found: FoundParts, chosen: readonly string[] | undefined): FoundParts {
  const isChosen = ({ id }: ProjectPart) => chosen === undefined || id === settingsPart || chosen.includes(id)
  return { ...found, parts: found.parts.filter(isChosen) }
}

export function takingTitle({ title, method, stops }: ProjectPart): string {
  if (stops) return `Stop ${title}, copy its data, start it again`
  return method === 'online' ? `Copy ${title} while it runs` : `Copy ${title}`
}

/**
 * Names of the workloads that run and use these parts: those with the data themselves, and every runtime and worker, which read all of it. Settings
 * are everybody's.
 */
export function usersOfParts(
  { spec }: Pick<ProjectRow, 'spec'>,
  parts: readonly string[],
  observed: readonly Observed[],
  kinds: Readonly<Record<string, PartKind>>,
): readonly string[] {
  const data = parts.map((id) => {
    const [kind, name = ''] = id.split(':')
    const database = kind === 'database' ? spec.databases[name] : undefined
    return database === undefined ? name : databaseWorkload(database.type, name)
  })
  const isUser = (name: string) =>
    parts.includes(settingsPart) || data.includes(name) || ['runtime', 'worker'].includes(kinds[name] ?? 'runtime')
  const running = observed.filter(({ state }) => state === 'running' || state === 'waiting')
  return running.map(({ ref }) => ref.workload).filter(isUser)
}
