import { type DatabaseType, databaseTypeOf, databaseTypes } from '@stackquay/catalog'
import type { FieldError, ProjectPatch } from '@stackquay/contract'
import { chooseLine, type OfferedLine } from './choose-line.ts'
import { databaseWorkload } from './resolve-connections.ts'
import { seedFaults, seedPaths, withSeed } from './seed.ts'
import { type DatabaseSpec, type ProjectSpec, primaryDatabase, withPrimaryMarked } from './spec.ts'
import type { DatabaseVersion, EarlierData } from './version-changes.ts'

type Databases = ProjectSpec['databases']
type Sent = NonNullable<NonNullable<ProjectPatch['databases']>[string]>

/** What was there before an upgrade of a database away from a release line; the newest. */
export type Earlier = (database: string, line: string) => EarlierData | null

export const noneEarlier: Earlier = () => null

interface World {
  readonly offers: Readonly<Record<string, readonly OfferedLine[]>>
  /** What is there, by the name of the kept data. */
  readonly data: ReadonlyMap<string, unknown>
  readonly earlier: Earlier
  readonly errors: FieldError[]
}

/** The databases after a patch: a new one is added, a change never drops one, and data goes with its version. */
export function mergeDatabases(
  spec: ProjectSpec,
  patch: ProjectPatch,
  world: World,
): { readonly databases: Databases; readonly versions: readonly DatabaseVersion[] } {
  const databases = new Map(Object.entries(spec.databases))
  const versions: DatabaseVersion[] = []
  for (const [name, sent] of Object.entries(patch.databases ?? {})) {
    const before = databases.get(name)
    if (sent === null) {
      if (before !== undefined) world.errors.push(needsDelete(name))
      continue
    }
    const kind = kindOf(name, before, sent, world.errors)
    if (kind === null) continue
    if (before === undefined) {
      if (sent.removeData === true) world.errors.push(nothingEarlier(name))
      addDatabase(databases, name, kind, sent, world)
      continue
    }
    const change = versionChange(name, kind, before, sent, world)
    if (change === 'refused') continue
    if (typeof change === 'object') versions.push(change)
    const version = typeof change === 'string' ? change : change.to
    const { seed: seedBefore, ...kept } = before
    const seed = sent.seed === undefined ? seedBefore : seedPaths(sent.seed)
    world.errors.push(...seedFaults(name, kind, sent.seed))
    const exposePort = sent.exposePort ?? before.exposePort
    const changed = { ...kept, type: kind.name, version, exposePort, ...withSeed(seed) }
    databases.set(name, withPointInTime(changed, name, kind, sent, world))
  }
  return { databases: Object.fromEntries(databases), versions }
}

/** Whether what becomes of a version depends on whether the database has data. */
export function databasesAskAboutData(databases: Databases, patch: ProjectPatch): boolean {
  return Object.entries(patch.databases ?? {}).some(([name, sent]) => {
    const before = Object.hasOwn(databases, name) ? databases[name] : undefined
    if (before === undefined || sent === null) return false
    return sent.version !== undefined && sent.version !== before.version
  })
}

function needsDelete(name: string): FieldError {
  return {
    pointer: `/databases/${name}`,
    code: 'needs_delete',
    detail: `A change never drops a database. Use DELETE …/databases/${name}?confirm=${name}, which deletes its data.`,
  }
}

function nothingEarlier(name: string): FieldError {
  return {
    pointer: `/databases/${name}/removeData`,
    code: 'no_earlier_version',
    detail: 'It only goes with a change back to an earlier version.',
  }
}

function kindOf(name: string, before: DatabaseSpec | undefined, sent: Sent, errors: FieldError[]): DatabaseType | null {
  const pointer = `/databases/${name}`
  const refuse = (at: string, code: string, detail: string) => {
    errors.push({ pointer: at, code, detail })
    return null
  }
  const kind = databaseTypeOf(sent.type ?? before?.type ?? '')
  if (kind === undefined) {
    const known = databaseTypes.map((candidate) => candidate.name).join(', ')
    return sent.type === undefined
      ? refuse(`${pointer}/type`, 'required', `A new database needs its type: ${known}.`)
      : refuse(`${pointer}/type`, 'unknown_type', `There is no database type "${sent.type}"; there is ${known}.`)
  }
  const blocker = before === undefined ? kind.nameBlocker(name) : null
  if (blocker !== null) return refuse(pointer, 'reserved_name', `${blocker} Choose another.`)
  if (before !== undefined && kind.name !== before.type)
    return refuse(
      `${pointer}/type`,
      'type_change_refused',
      `"${name}" is ${before.type}, and that cannot be changed. Add another database instead.`,
    )
  return kind
}

function addDatabase(
  databases: Map<string, DatabaseSpec>,
  name: string,
  kind: DatabaseType,
  sent: Sent,
  { offers, errors }: World,
): void {
  const offered = offers[kind.name] ?? []
  const version = chooseLine(kind, undefined, sent.version, offered, errors, `/databases/${name}/version`, true)
  const known = withPrimaryMarked(Object.fromEntries(databases))
  for (const [other, database] of Object.entries(known)) databases.set(other, database)
  errors.push(...seedFaults(name, kind, sent.seed))
  const exposePort = sent.exposePort ?? false
  const settings = { type: kind.name, version, exposePort, ...withSeed(seedPaths(sent.seed ?? [])) }
  const added = { ...settings, primary: primaryDatabase(known) === undefined }
  databases.set(name, withPointInTime(added, name, kind, sent, { errors }))
}

/** Null switches it off. What was kept until then goes with its days. */
function withPointInTime(
  database: DatabaseSpec,
  name: string,
  kind: DatabaseType,
  { pointInTime: wanted }: Sent,
  { errors }: Pick<World, 'errors'>,
): DatabaseSpec {
  const { pointInTime: before, ...rest } = database
  const pointInTime = wanted === undefined ? before : (wanted ?? undefined)
  if (pointInTime === undefined) return rest
  const blocker =
    kind.pointInTime === undefined
      ? `${kind.label} cannot be restored to a moment here. Use snapshots and backups.`
      : kind.pointInTime.blocker(database.version)
  if (blocker === null) return { ...rest, pointInTime }
  errors.push({ pointer: `/databases/${name}/pointInTime`, code: 'point_in_time_unsupported', detail: blocker })
  return database
}

/** The version that it has from now on; or what must be done with its data first. */
function versionChange(
  name: string,
  kind: DatabaseType,
  { version: from }: DatabaseSpec,
  { version: sent, removeData }: Sent,
  { offers, data, earlier, errors }: World,
): string | DatabaseVersion | 'refused' {
  const refuse = (field: string, code: string, detail: string) => {
    errors.push({ pointer: `/databases/${name}/${field}`, code, detail })
    return 'refused' as const
  }
  const isOther = sent !== undefined && kind.lineOf(sent) !== kind.lineOf(from)
  const goesBack = isOther && isEarlier(sent, from) && data.has(databaseWorkload(kind.name, name))
  if (removeData === true && !goesBack) {
    errors.push(nothingEarlier(name))
    return 'refused'
  }
  if (!isOther) return from
  const count = errors.length
  const offered = offers[kind.name] ?? []
  const to = chooseLine(kind, undefined, sent, offered, errors, `/databases/${name}/version`, true)
  if (errors.length > count) return 'refused'
  if (!data.has(databaseWorkload(kind.name, name))) return to
  const written = `The data of "${name}" was written by ${kind.label} ${from}`
  if (!goesBack) {
    const blocker = kind.upgrade === undefined ? `${to} cannot read it.` : kind.upgrade.blocker(from, to)
    if (blocker === null) return { database: name, from, to, back: null }
    return refuse('version', 'version_change_refused', `${written}. ${blocker} Add another database and copy the data.`)
  }
  const back = earlier(name, to)
  if (back === null)
    return refuse(
      'version',
      'version_change_refused',
      `${written}, which ${to} cannot read, and there is no backup from before an upgrade from ${to}. Add another database and copy the data.`,
    )
  if (removeData !== true)
    return refuse(
      'removeData',
      'confirm',
      `${written}. Going back to ${to} puts the backup ${back.backup} of ${back.createdAt} in its place, and what was written since is lost. Send "removeData": true with it.`,
    )
  return { database: name, from, to, back }
}

/** By numbers: 9.6 is before 10, and 8.4 before 10.11. */
export function isEarlier(one: string, other: string): boolean {
  const [a, b] = [one, other].map((version) => version.split('.').map((part) => Number.parseInt(part, 10) || 0))
  for (let at = 0; at < Math.max(a!.length, b!.length); at += 1) {
    const difference = (a![at] ?? 0) - (b![at] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}
