import { type AddonDefinition, type RuntimeType, runtimeTypes, type Settings } from '@stackquay/catalog'
import type { FieldError, ProjectPatch } from '@stackquay/contract'
import { mergeBranches } from './branches.ts'
import { chooseLine, type OfferedLine } from './choose-line.ts'
import { type Fields, isObject, withoutUndefined } from './fields.ts'
import { mergeHealthCheck } from './health-check.ts'
import { mergeHooks } from './hooks.ts'
import { type Earlier, mergeDatabases, noneEarlier } from './merge-databases.ts'
import { mergeLimits } from './merge-limits.ts'
import { mergeServices } from './merge-services.ts'
import { mergeWorkers } from './merge-workers.ts'
import { mergePull } from './pull.ts'
import { mergeSleep } from './sleep.ts'
import type { EnvVariable, ProjectSpec } from './spec.ts'
import type { VersionChange } from './version-changes.ts'

/** What the instance offers now: versions by runtime, service and database, newest first, the default marked. */
export interface Offers {
  readonly runtimes: Readonly<Record<string, readonly OfferedLine[]>>
  readonly databases: Readonly<Record<string, readonly OfferedLine[]>>
  readonly services: Readonly<Record<string, readonly OfferedLine[]>>
  /** The addons of the instance, by name. Absent: none. */
  readonly addons?: Readonly<Record<string, AddonDefinition>>
}

/** Environment entries of a patch after secrets were put aside: null removes, a missing name stays. */
export type EnvPatch = Readonly<Record<string, EnvVariable | null>>

export type Merged =
  | {
      readonly ok: true
      readonly spec: ProjectSpec
      /** Services whose data the patch asks to delete. */
      readonly removesData: readonly string[]
      /** Databases and services whose data is to become that of another release line. */
      readonly versions: readonly VersionChange[]
    }
  | { readonly ok: false; readonly errors: readonly FieldError[] }

/**
 * The specification after a patch. What the patch does not name stays (specification, section 4.2); all wrong fields are
 * answered at once. `naming` is what a runtime means that is named without `enabled` and was never configured: a body
 * that creates a project wants it, a PATCH leaves it off. The same holds for services. `data` is what is there, by name, with
 * the version that wrote it where that is not the one of the settings; it matters only when `asksAboutData` says so, and
 * finding it out takes a while. `earlier` knows what data of an earlier release line of a database could be put back.
 */
export function mergeProject(
  spec: ProjectSpec,
  patch: ProjectPatch,
  env: EnvPatch,
  offers: Offers,
  naming: 'enables' | 'keeps',
  data: ReadonlyMap<string, string | null> = new Map(),
  earlier: Earlier = noneEarlier,
): Merged {
  const errors: FieldError[] = []
  const runtimes: Record<string, Settings> = { ...spec.runtimes }
  for (const kind of runtimeTypes) {
    const change = patch[kind.name]
    if (change === undefined) continue
    const merged = mergeRuntime(
      kind,
      spec.runtimes[kind.name],
      change as Fields,
      offers.runtimes[kind.name] ?? [],
      naming,
      errors,
    )
    if (merged !== null) runtimes[kind.name] = merged
  }
  const services = mergeServices(spec, patch, offers, naming, data, errors)
  const databases = mergeDatabases(spec, patch, { offers: offers.databases, data, earlier, errors })
  const { sleep: sleepBefore, branches: branchesBefore, ...rest } = mergeWorkers(spec, patch, errors)
  const sleep = mergeSleep(sleepBefore, patch, errors)
  const branches = mergeBranches(branchesBefore, patch)
  const changed: ProjectSpec = {
    ...rest,
    ...(branches === undefined ? {} : { branches }),
    ...(sleep === undefined ? {} : { sleep }),
    name: patch.name ?? spec.name,
    runtimes,
    services: services.services,
    ...(services.addons === undefined ? {} : { addons: services.addons }),
    databases: databases.databases,
    env: mergeEnv(spec, env),
    healthCheck: mergeHealthCheck(spec.healthCheck, patch.healthCheck, errors),
  }
  const limited: ProjectSpec = { ...changed, limits: mergeLimits(changed, patch, errors) }
  const next = mergeHooks(mergePull(limited, patch, errors), patch, errors)
  if (errors.length > 0) return { ok: false, errors }
  return {
    ok: true,
    spec: next,
    removesData: services.removesData,
    versions: [...databases.versions, ...services.versions],
  }
}

function mergeRuntime(
  kind: RuntimeType,
  before: Settings | undefined,
  change: Fields,
  offered: readonly OfferedLine[],
  naming: 'enables' | 'keeps',
  errors: FieldError[],
): Settings | null {
  const { hostPort: _host, debugHostPort: _debug, ...sent } = withoutUndefined(change)
  const base: Fields = before ?? { ...kind.settings.defaults(), enabled: naming === 'enables' }
  const presetName = (sent.preset ?? base.preset) as string
  const preset = kind.presets.find((candidate) => candidate.name === presetName)
  const dropped =
    before !== undefined && sent.preset !== undefined && sent.preset !== before.preset
      ? ['port', ...kind.presetDrops]
      : []
  const kept = Object.fromEntries(Object.entries(base).filter(([field]) => !dropped.includes(field)))
  const defaults = kind.settings.defaults() as Fields

  const merged: Record<string, unknown> = { ...kept }
  for (const field of dropped) if (field !== 'port' && field in defaults) merged[field] = defaults[field]
  for (const [field, value] of Object.entries(sent)) {
    merged[field] = isObject(value) && isObject(kept[field]) ? mergeNested(kind, kept[field], value) : value
  }
  merged.port ??= preset?.port
  merged.version = chooseLine(
    kind,
    before?.version,
    sent.version as string | undefined,
    offered,
    errors,
    `/${kind.name}/version`,
    merged.enabled === true,
  )

  const parsed = kind.settings.stored.safeParse(merged)
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const pointer = ['', kind.name, ...issue.path.map(String)].join('/')
      if (!errors.some((error) => error.pointer === pointer))
        errors.push({ pointer, code: 'invalid', detail: issue.message })
    }
    return null
  }
  return parsed.data as unknown as Settings
}

/**
 * An object inside a runtime is merged too. One that is a server of its own (a dev server) follows the same rules: its
 * host port is read-only, and a new preset drops the port unless it is sent.
 */
function mergeNested(kind: RuntimeType, before: Fields, change: Fields): Fields {
  const isServer = 'preset' in before && 'port' in before
  if (!isServer) return { ...before, ...withoutUndefined(change) }
  const { hostPort: _host, ...sent } = withoutUndefined(change)
  const merged: Record<string, unknown> = { ...before, ...sent }
  if (sent.preset !== undefined && sent.preset !== before.preset && sent.port === undefined)
    merged.port = kind.presets.find((preset) => preset.name === sent.preset)?.port ?? before.port
  return merged
}

function mergeEnv(spec: ProjectSpec, patch: EnvPatch): ProjectSpec['env'] {
  // By entries, because `__proto__` is a variable like any other.
  const env = new Map(Object.entries(spec.env))
  for (const [name, variable] of Object.entries(patch)) {
    if (variable === null) env.delete(name)
    else env.set(name, variable)
  }
  return Object.fromEntries(env)
}

/** Whether two specifications are the same wish, whatever the order of their keys. */
export function sameSpec(a: ProjectSpec, b: ProjectSpec): boolean {
  return stable(a) === stable(b)
}

function stable(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([x], [y]) => (x < y ? -1 : 1))) : inner,
  )
}
