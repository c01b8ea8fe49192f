import {
  type AddonDefinition,
  addonType,
  dependencyCycle,
  type ServiceFields,
  type ServiceType,
  serviceTypes,
} from '@stackquay/catalog'
import type { FieldError, ProjectPatch } from '@stackquay/contract'
import { z } from 'zod'
import { chooseLine, type OfferedLine } from './choose-line.ts'
import { type Fields, isObject, withoutUndefined } from './fields.ts'
import { nearestName } from './names.ts'
import { servicePointer, serviceTypeIn } from './service-types.ts'
import type { ProjectSpec } from './spec.ts'
import type { ServiceVersion } from './version-changes.ts'

type Before = Pick<ProjectSpec, 'services' | 'addons' | 'workers'>

/** What the instance offers of services, and the addons that it knows. */
export interface ServiceOffers {
  readonly services: Readonly<Record<string, readonly OfferedLine[]>>
  readonly addons?: Readonly<Record<string, AddonDefinition>>
}

interface Sent {
  readonly kind: ServiceType
  readonly fields: unknown
}

/** The services after a patch: what it does not name stays (specification, section 4.2), also of a service that is off. */
export function mergeServices(
  spec: Before,
  patch: ProjectPatch,
  offers: ServiceOffers,
  naming: 'enables' | 'keeps',
  data: ReadonlyMap<string, string | null>,
  errors: FieldError[],
): Pick<ProjectSpec, 'services' | 'addons'> & {
  readonly removesData: readonly string[]
  readonly versions: readonly ServiceVersion[]
} {
  const { services } = spec
  const merged: Record<string, ServiceFields> = { ...services }
  const removesData: string[] = []
  const versions: ServiceVersion[] = []
  const { addons, sent: ofAddons } = namedAddons(spec, patch, offers.addons ?? {}, errors)
  for (const { kind, fields: sent } of [...ofBuiltIn(patch), ...ofAddons]) {
    if (!isObject(sent)) continue
    const before = services[kind.name]
    // What was never there is off already.
    if (before === undefined && isOnlyOff(sent) && !data.has(kind.name)) continue
    const writtenBy = data.has(kind.name) ? (data.get(kind.name) ?? before?.version ?? null) : null
    const next = mergeService(kind, before, sent, {
      offered: offers.services[kind.name] ?? [],
      naming,
      writtenBy,
      errors,
    })
    if (next === null) continue
    merged[kind.name] = next
    const change = opensAnew(kind, before, next, writtenBy)
    if (change !== null) versions.push({ ...change, ...newDescription(spec.addons, addons, kind.name) })
    if (sent.removeData === true && data.has(kind.name)) removesData.push(kind.name)
  }
  return { services: merged, ...onlyOf(addons, merged), removesData, versions }
}

/**
 * Whether a program of another release line than the one that wrote the data is to open it from now on. A service that is off opens
 * nothing: what was wished for meanwhile counts when it is enabled. One that was to open it before has its backup.
 */
function opensAnew(
  kind: ServiceType,
  before: ServiceFields | undefined,
  after: ServiceFields,
  writtenBy: string | null,
): ServiceVersion | null {
  if (writtenBy === null || !kind.keepsData || !opensData(kind, after)) return null
  if (before !== undefined && opensData(kind, before) && before.version === after.version) return null
  const isSame = kind.lineOf(writtenBy) === kind.lineOf(after.version)
  return isSame ? null : { service: kind.name, from: writtenBy, to: after.version }
}

/** Pure. What data that is put back would become without a backup: the service is on, with another release line than the one that wrote it. */
export function openedByOther(
  spec: Pick<ProjectSpec, 'services' | 'addons'>,
  name: string,
  writtenBy: string | null,
): ServiceVersion | null {
  const kind = serviceTypeIn(spec, name)
  const now = spec.services[name]
  return kind === undefined || now === undefined ? null : opensAnew(kind, undefined, now, writtenBy)
}

function newDescription(
  before: ProjectSpec['addons'],
  after: ProjectSpec['addons'],
  name: string,
): Pick<ServiceVersion, 'addon'> {
  const [from, to] = [before, after].map((all) =>
    all !== undefined && Object.hasOwn(all, name) ? all[name] : undefined,
  )
  return from === undefined || to === undefined || from === to ? {} : { addon: { from, to } }
}

function opensData(kind: ServiceType, settings: ServiceFields): boolean {
  return settings.enabled && kind.runsHere?.(settings) !== false
}

function ofBuiltIn(patch: ProjectPatch): readonly Sent[] {
  return serviceTypes.map((kind) => ({ kind, fields: patch[kind.name] }))
}

/**
 * What a patch says of addons. One that it names is from now on what the instance has of that name, unless the version that it runs is
 * not among those; the others stay what they are.
 */
function namedAddons(
  { services, addons: before, workers = {} }: Before,
  patch: ProjectPatch,
  known: Readonly<Record<string, AddonDefinition>>,
  errors: FieldError[],
): { readonly addons: ProjectSpec['addons']; readonly sent: readonly Sent[] } {
  const named = Object.entries(patch.addons ?? {})
  if (named.length === 0) return { addons: before, sent: [] }
  const addons: Record<string, AddonDefinition> = { ...before }
  const sent: Sent[] = []
  for (const [name, fields] of named) {
    const held = Object.hasOwn(addons, name) ? addons[name] : undefined
    const now = Object.hasOwn(known, name) ? known[name] : undefined
    const settings = Object.hasOwn(services, name) ? services[name] : undefined
    const pointer = `/addons/${name}`
    const begins = isObject(fields) && fields.enabled !== false && settings?.enabled !== true
    const addon = now !== undefined && !losesVersion(now, settings, fields) ? now : held
    if (addon === undefined || (now === undefined && begins))
      errors.push(unknownAddon(pointer, name, Object.keys(known)))
    else if (Object.hasOwn(workers, name) || Object.hasOwn(patch.workers ?? {}, name))
      errors.push({ pointer, code: 'name_taken', detail: `The project has a worker "${name}". Rename one of them.` })
    else {
      addons[name] = addon
      sent.push({ kind: addonType(addon), fields })
    }
  }
  const cycle = dependencyCycle(Object.values(addons))
  if (cycle !== null)
    errors.push({
      pointer: '/addons',
      code: 'dependency_cycle',
      detail: `They wait for each other: ${cycle.join(' → ')}.`,
    })
  return { addons, sent }
}

/** Whether the newer definition is without the version that the project has, and nobody chooses another. */
function losesVersion(now: AddonDefinition, settings: ServiceFields | undefined, fields: unknown): boolean {
  if (settings === undefined || (isObject(fields) && fields.version !== undefined)) return false
  return now.native === undefined && !now.versions.some(({ version }) => version === settings.version)
}

function unknownAddon(pointer: string, name: string, known: readonly string[]): FieldError {
  const near = nearestName(name, known)
  const offered = known.length === 0 ? 'There is none yet' : `There is ${known.join(', ')}`
  const advice = near === undefined ? `${offered}. An administrator adds addons.` : `Did you mean "${near}"?`
  return { pointer, code: 'unknown_addon', detail: `This instance has no addon "${name}". ${advice}` }
}

/** A definition without settings is nobody's. */
function onlyOf(addons: ProjectSpec['addons'], services: ProjectSpec['services']): Pick<ProjectSpec, 'addons'> {
  const kept = Object.entries(addons ?? {}).filter(([name]) => Object.hasOwn(services, name))
  return kept.length === 0 ? {} : { addons: Object.fromEntries(kept) }
}

/** Whether what a patch says of services depends on which data there is, and which version wrote it. */
export function servicesAskAboutData({ services, addons = {} }: Before, patch: ProjectPatch): boolean {
  const named = Object.entries(patch.addons ?? {}).flatMap(([name, fields]): readonly Sent[] =>
    Object.hasOwn(addons, name) ? [{ kind: addonType(addons[name]!), fields }] : [],
  )
  return [...ofBuiltIn(patch), ...named].some(({ kind, fields: sent }) => {
    const before = services[kind.name]
    if (!isObject(sent)) return false
    if (sent.removeData === true) return true
    if (before === undefined) return false
    if (sent.enabled === true && !before.enabled) return true
    if (!opensData(kind, before) && opensData(kind, withSent(before, sent))) return true
    return ['version', ...kind.settings.ofData].some(
      (field) => sent[field] !== undefined && sent[field] !== before[field],
    )
  })
}

function isOnlyOff(sent: Fields): boolean {
  return sent.enabled === false && Object.keys(sent).every((field) => field === 'enabled' || field === 'removeData')
}

function mergeService(
  kind: ServiceType,
  before: ServiceFields | undefined,
  sent: Fields,
  world: {
    readonly offered: readonly OfferedLine[]
    readonly naming: 'enables' | 'keeps'
    /** The version that wrote its data; null when there is none. */
    readonly writtenBy: string | null
    readonly errors: FieldError[]
  },
): ServiceFields | null {
  const { errors, offered, writtenBy } = world
  const refuse = (field: string, code: string, detail: string) =>
    errors.push({ pointer: `${servicePointer(kind)}/${field}`, code, detail })
  const { removeData, ...change } = withoutReadOnly(kind.settings.patch, sent)
  const defaults = kind.settings.defaults() as Fields
  const base: Fields = before ?? { ...defaults, enabled: world.naming === 'enables' }
  const merged: Record<string, unknown> = { ...base }
  // Data that is made anew has the traits that are asked for now, not those of data that went.
  if (before?.enabled === false && change.enabled === true && writtenBy === null)
    for (const field of kind.settings.ofData) merged[field] = defaults[field]
  for (const [field, value] of Object.entries(change)) merged[field] = mergeValue(base[field], value)

  if (kind.alwaysPublished && change.exposePort === false)
    refuse('exposePort', 'always_published', `${kind.label} always publishes its port. Leave exposePort out.`)
  if (removeData === true && change.enabled !== false)
    refuse('removeData', 'needs_disable', 'Data is only deleted together with "enabled": false.')

  const fields = merged as ServiceFields
  const sentVersion = change.version as string | undefined
  const isChosen = sentVersion !== undefined && sentVersion !== before?.version
  const runsHere = kind.runsHere?.(fields) !== false
  const pointer = `${servicePointer(kind)}/version`
  const held = heldVersion(before, fields, writtenBy, offered)
  merged.version = chooseLine(
    kind,
    held,
    sentVersion,
    offered,
    errors,
    pointer,
    runsHere && (fields.enabled || isChosen),
  )
  if (writtenBy !== null && before !== undefined) {
    const isKept = merged.version === before.version || merged.version === writtenBy
    const blocker = isKept ? null : kind.dataBlocker(writtenBy, String(merged.version))
    if (blocker !== null)
      refuse(
        'version',
        'version_change_refused',
        `${blocker} Its data stays as it is. To begin anew, send "enabled": false with "removeData": true first.`,
      )
    for (const field of kind.settings.ofData) {
      if (merged[field] === before[field]) continue
      refuse(
        field,
        'data_exists',
        `"${field}" says how its data is made, and that is there already. To begin anew, send "enabled": false with "removeData": true first.`,
      )
    }
  }

  const parsed = kind.settings.stored.safeParse(merged)
  if (!parsed.success) {
    for (const issue of parsed.error.issues) refuse(issue.path.map(String).join('/'), 'invalid', issue.message)
    return null
  }
  return parsed.data as unknown as ServiceFields
}

/** The version that stays when none is sent. One that was settled while the service was off, and is not here, binds nobody. */
function heldVersion(
  before: ServiceFields | undefined,
  after: ServiceFields,
  writtenBy: string | null,
  offered: readonly OfferedLine[],
): string | undefined {
  if (before === undefined || before.enabled || !after.enabled || writtenBy !== null) return before?.version
  return offered.some((line) => line.version === before.version && line.available) ? before.version : undefined
}

function withSent(before: ServiceFields, sent: Fields): ServiceFields {
  const changed = Object.entries(withoutUndefined(sent)).map(([field, value]) => [
    field,
    mergeValue(before[field], value),
  ])
  return { ...before, ...Object.fromEntries(changed) }
}

/** Objects are merged, everything else is replaced; null takes away. */
function mergeValue(before: unknown, sent: unknown): unknown {
  return isObject(before) && isObject(sent) ? { ...before, ...withoutUndefined(sent) } : sent
}

/** What an answer of GET has and a change cannot: accepted and ignored, at every depth. */
function withoutReadOnly(schema: z.ZodType, sent: Fields): Fields {
  const shape = shapeOf(schema)
  return Object.fromEntries(
    Object.entries(withoutUndefined(sent)).flatMap(([field, value]) => {
      const inner = shape[field]
      if (inner !== undefined && isReadOnly(inner)) return []
      return [[field, isObject(value) && inner !== undefined ? withoutReadOnly(inner, value) : value]]
    }),
  )
}

function shapeOf(schema: z.ZodType): Readonly<Record<string, z.ZodType>> {
  if (schema instanceof z.ZodObject) return schema.shape as Record<string, z.ZodType>
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault
    ? shapeOf(schema.unwrap() as z.ZodType)
    : {}
}

function isReadOnly(schema: z.ZodType): boolean {
  if (schema.meta()?.readOnly === true) return true
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? isReadOnly(schema.unwrap() as z.ZodType)
    : false
}
