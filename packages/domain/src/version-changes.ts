import type { AddonDefinition } from '@stackquay/catalog'
import { databasePart, servicePart } from './backup-parts.ts'
import { servicePointer, serviceTypeIn } from './service-types.ts'
import type { ProjectSpec } from './spec.ts'

/** Data of one release line that is to be data of another. The specification keeps the line that wrote it until it is. */
export type VersionChange = DatabaseVersion | ServiceVersion

export interface DatabaseVersion {
  readonly database: string
  readonly from: string
  readonly to: string
  /** The backup that is put back, for an earlier line; null where the data itself becomes that of a later one. */
  readonly back: EarlierData | null
}

/** The program of the other line opens the data as it is and makes it its own. */
export interface ServiceVersion {
  readonly service: string
  readonly from: string
  readonly to: string
  /** Of an addon whose description changes with it: that of then says what runs the old line. */
  readonly addon?: { readonly from: AddonDefinition; readonly to: AddonDefinition }
}

/** A backup that was taken before an upgrade. */
export interface EarlierData {
  readonly backup: string
  readonly createdAt: string
}

export function isOfService<Change extends VersionChange>(change: Change): change is Change & ServiceVersion {
  return 'service' in change
}

export function isOfDatabase<Change extends VersionChange>(change: Change): change is Change & DatabaseVersion {
  return 'database' in change
}

/** The part of the project whose data it is about. */
export function partOfChange(change: VersionChange): string {
  return isOfService(change) ? servicePart(change.service) : databasePart(change.database)
}

/** Where it stands in the body of the project. */
export function pointerOfChange(change: VersionChange, spec: Pick<ProjectSpec, 'addons'>): string {
  if (!isOfService(change)) return `/databases/${change.database}/version`
  const kind = serviceTypeIn(spec, change.service)
  return `${servicePointer(kind ?? { name: change.service })}/version`
}

/** The specification as its data is: with the lines that wrote it. */
export function withVersionsOf(
  spec: ProjectSpec,
  versions: readonly VersionChange[],
  which: 'from' | 'to',
): ProjectSpec {
  if (versions.length === 0) return spec
  const databases = new Map(Object.entries(spec.databases))
  const services = new Map(Object.entries(spec.services))
  const addons = new Map(Object.entries(spec.addons ?? {}))
  for (const change of versions) {
    const version = change[which]
    if (!isOfService(change)) put(databases, change.database, version)
    else {
      put(services, change.service, version)
      if (change.addon !== undefined) addons.set(change.service, change.addon[which])
    }
  }
  return {
    ...spec,
    databases: Object.fromEntries(databases),
    services: Object.fromEntries(services),
    ...(spec.addons === undefined ? {} : { addons: Object.fromEntries(addons) }),
  }
}

function put<Settings extends { readonly version: string }>(
  all: Map<string, Settings>,
  name: string,
  version: string,
): void {
  const now = all.get(name)
  if (now !== undefined) all.set(name, { ...now, version })
}
