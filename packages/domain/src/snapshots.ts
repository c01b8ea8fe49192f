import { databaseTypeOf } from '@stackquay/catalog'
import type { SnapshotSource } from '@stackquay/contract'
import { databasePart, servicePart } from './backup-parts.ts'
import { databaseWorkload } from './resolve-connections.ts'
import { serviceTypeIn } from './service-types.ts'
import type { ProjectSpec } from './spec.ts'

/** Snapshots that people made of one database. */
export const mostSnapshots = 20
/** Of those that restores, resets and pulls made of what they replaced, the newest ones stay, of each. */
export const mostBeforeRestore = 3

const prefix = 'snp_'

/** The data of a snapshot is kept data of its project, by the id of the snapshot. */
export function isSnapshotData(data: string): boolean {
  return data.startsWith(prefix)
}

/** A text that its data knows. It goes with the project, and is none of its own secrets. */
export function snapshotSecret(id: string, name: string): string {
  return `snapshot/${id}/${name}`
}

export function isSnapshotSecret(name: string): boolean {
  return name.startsWith('snapshot/')
}

/** What snapshots are made of: a database, or a service with data, by its type. */
export interface SnapshotSubject {
  readonly name: string
  /** As in backups: `database:main`, `service:redis`. */
  readonly part: string
  readonly kind: 'database' | 'service'
  readonly type: string
  readonly title: string
  /** Of a database. */
  readonly version: string | null
  /** Name of its kept data and of its workload. */
  readonly data: string
}

/** Pure. Null where the project has neither by that name. A database wins over a service that is called like it. */
export function snapshotSubject(
  spec: Pick<ProjectSpec, 'databases' | 'services' | 'addons'>,
  name: string,
): SnapshotSubject | null {
  const { databases, services } = spec
  const database = Object.hasOwn(databases, name) ? databases[name] : undefined
  if (database !== undefined) {
    const { type, version } = database
    const title = `${databaseTypeOf(type)?.label ?? type} ${name}`
    return {
      ...{ name, part: databasePart(name), kind: 'database', type, title, version },
      data: databaseWorkload(type, name),
    }
  }
  const service = serviceTypeIn(spec, name)
  if (service === undefined || !Object.hasOwn(services, service.name)) return null
  return {
    ...{ name: service.name, part: servicePart(service.name), kind: 'service', type: service.name },
    ...{ title: service.label, version: services[service.name]?.version ?? null, data: service.name },
  }
}

/** One that there is, as the rules see it. */
export interface KnownSnapshot {
  readonly id: string
  readonly name: string
  readonly source: SnapshotSource | 'base'
  readonly createdAt: string
}

/** Pure: a name for one that nobody named; another one for a second in the same minute. */
export function snapshotName(
  now: Date,
  word: 'snapshot' | 'checkpoint' | Exclude<SnapshotSource, 'manual'>,
  taken: readonly { name: string }[],
): string {
  const at = now.toISOString().slice(0, 16).replaceAll(/[-:]/g, '').replace('T', '-')
  const names = new Set(taken.map(({ name }) => name))
  const wanted = `${word}-${at}`
  for (let turn = 2; ; turn += 1) {
    const name = turn === 2 ? wanted : `${wanted}-${turn - 1}`
    if (!names.has(name)) return name
  }
}

/** Pure: why no further one of this name can be made; null: it can. `known` are those of the same database. */
export function snapshotBlocker(known: readonly KnownSnapshot[], name: string): string | null {
  if (known.some((one) => one.name === name)) return `There is a snapshot "${name}" of it already. Choose another name.`
  if (known.filter(({ source }) => source === 'manual').length < mostSnapshots) return null
  return `There are ${mostSnapshots} snapshots of it, and more are not kept. Delete one first.`
}

/** Pure: those that were made of what was replaced and that are more than stay; the newest come first in `known`. */
export function spareBeforeRestore<Known extends KnownSnapshot>(known: readonly Known[]): readonly Known[] {
  const bySource = Map.groupBy(known, ({ source }) => source)
  return [...bySource].flatMap(([source, ones]) =>
    // What a person made, and what an archive begins with, goes by rules of its own.
    source === 'manual' || source === 'base' ? [] : ones.slice(mostBeforeRestore),
  )
}

export type CopyManner = 'live' | 'stop' | 'rest'

/** Pure: how data is copied. `live`: its type holds it meanwhile. `stop`: its workload stops. `rest`: nothing runs. */
export function copyManner({ runs, holds }: { readonly runs: boolean; readonly holds: boolean }): CopyManner {
  if (!runs) return 'rest'
  return holds ? 'live' : 'stop'
}

export function copyTitle(title: string, manner: CopyManner): string {
  if (manner === 'live') return `Copy the data of ${title} while it runs`
  return manner === 'stop' ? `Stop ${title}, copy its data, start it again` : `Copy the data of ${title}`
}
