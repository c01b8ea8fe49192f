import { type ServiceFields, type ServiceType, serviceTypes } from '@stackquay/catalog'
import type { FieldError, ProjectPatch } from '@stackquay/contract'
import { z } from 'zod'
import { chooseLine, type OfferedLine } from './choose-line.ts'
import { type Fields, isObject, withoutUndefined } from './fields.ts'

type Services = Readonly<Record<string, ServiceFields>>

/** The services after a patch: what it does not name stays (specification, section 4.2), also of a service that is off. */
export function mergeServices(
  services: Services,
  patch: ProjectPatch,
  offers: Readonly<Record<string, readonly OfferedLine[]>>,
  naming: 'enables' | 'keeps',
  data: ReadonlyMap<string, string | null>,
  errors: FieldError[],
): { readonly services: Services; readonly removesData: readonly string[] } {
  const merged: Record<string, ServiceFields> = { ...services }
  const removesData: string[] = []
  for (const kind of serviceTypes) {
    const sent = patch[kind.name]
    if (!isObject(sent)) continue
    const before = services[kind.name]
    // What was never there is off already.
    if (before === undefined && isOnlyOff(sent) && !data.has(kind.name)) continue
    const writtenBy = data.has(kind.name) ? (data.get(kind.name) ?? before?.version ?? null) : null
    const next = mergeService(kind, before, sent, { offered: offers[kind.name] ?? [], naming, writtenBy, errors })
    if (next === null) continue
    merged[kind.name] = next
    if (sent.removeData === true && data.has(kind.name)) removesData.push(kind.name)
  }
  return { services: merged, removesData }
}

/** Whether what a patch says of services depends on which data there is, and which version wrote it. */
export function servicesAskAboutData(services: Services, patch: ProjectPatch): boolean {
  return serviceTypes.some((kind) => {
    const before = services[kind.name]
    const sent = patch[kind.name]
    if (!isObject(sent)) return false
    if (sent.removeData === true) return true
    if (before === undefined) return false
    if (sent.enabled === true && !before.enabled) return true
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
    errors.push({ pointer: `/${kind.name}/${field}`, code, detail })
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
  const pointer = `/${kind.name}/version`
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
