import { addonSecrets, databaseTypeOf, serviceTypeOf } from '@stackquay/catalog'
import { databaseSecret, databaseWorkload, serviceSecret } from './resolve-connections.ts'
import { serviceTypesOf } from './service-types.ts'
import type { ProjectSpec } from './spec.ts'

/** One thing that a project consists of, for everything that takes a project or puts one back. */
export interface ProjectPart {
  /** `settings`, `files`, `database:main`, `service:redis`. */
  readonly id: string
  /** For people: `PostgreSQL main`. */
  readonly title: string
  /** `settings`, `files`, or the type of the database or service. */
  readonly type: string
  /** The release line that wrote its data; null for settings and files, and where nobody knows. */
  readonly version: string | null
  /** Name of its kept data, which is also its workload's; null for settings and files. */
  readonly data: string | null
  /** How it is taken now. `online`: by its own program while it runs. `copy`: while nothing writes to it. */
  readonly method: 'online' | 'copy'
  /** Its workload runs, and stops for as long as it is copied. */
  readonly stops: boolean
}

/** What there is of a project at this moment. */
export interface PartFacts {
  /** Names of its kept data. */
  readonly data: readonly string[]
  /** Which release line wrote the data of a service, when anybody knows. */
  writtenBy(data: string): string | null
  runs(workload: string): boolean
  /** Whether its type has a program here that takes it while it runs. */
  online(workload: string): boolean
}

export const settingsPart = 'settings'
export const filesPart = 'files'

/**
 * Pure: the parts that a project has, in the order in which they are taken. Data that was never made is no part; data of a service that
 * is switched off is one. An external service has none here.
 */
export function partsOf(spec: Pick<ProjectSpec, 'databases' | 'services' | 'addons'>, facts: PartFacts) {
  const { databases, services } = spec
  const parts: ProjectPart[] = [
    { ...plain, id: settingsPart, title: 'Settings', type: settingsPart },
    { ...plain, id: filesPart, title: 'Files', type: filesPart },
  ]
  for (const [name, { type, version }] of Object.entries(databases)) {
    const label = databaseTypeOf(type)?.label
    const part = { id: databasePart(name), title: `${label ?? type} ${name}`, type, version }
    parts.push({ ...part, ...taken(databaseWorkload(type, name), facts) })
  }
  for (const { name, label } of serviceTypesOf(spec)) {
    const version = facts.writtenBy(name) ?? services[name]?.version ?? null
    parts.push({ id: servicePart(name), title: label, type: name, version, ...taken(name, facts) })
  }
  return parts.filter(({ data }) => data === null || facts.data.includes(data))
}

export function databasePart(name: string): string {
  return `database:${name}`
}

export function servicePart(type: string): string {
  return `service:${type}`
}

/** Name of the kept data that a part of this id and type has in any project; null for settings and files. */
export function dataOfPart({ id, type }: { readonly id: string; readonly type: string }): string | null {
  if (id.startsWith('database:')) return databaseWorkload(type, id.slice('database:'.length))
  return id.startsWith('service:') ? type : null
}

/** Names of the secrets whose texts the data of a part knows, so that both go together. */
export function secretsOfPart({ id, type }: { readonly id: string; readonly type: string }): readonly string[] {
  if (id.startsWith('database:'))
    return (databaseTypeOf(type)?.secrets ?? []).map(({ name }) => databaseSecret(id.slice('database:'.length), name))
  return id.startsWith('service:') ? secretsOfService(type) : []
}

/** Of an addon every secret that one can have: which of them it has is no concern of those who take texts along. */
export function secretsOfService(type: string): readonly string[] {
  const names = serviceTypeOf(type)?.secrets.map(({ name }) => name) ?? addonSecrets
  return names.map((name) => serviceSecret(type, name))
}

const plain = { version: null, data: null, method: 'copy', stops: false } as const

function taken(workload: string, facts: PartFacts): Pick<ProjectPart, 'data' | 'method' | 'stops'> {
  const runs = facts.runs(workload)
  const online = runs && facts.online(workload)
  return { data: workload, method: online ? 'online' : 'copy', stops: runs && !online }
}
