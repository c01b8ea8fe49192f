import { databaseTypes, type RuntimeType, runtimeTypes, type ServiceType, serviceTypes } from '@stackquay/catalog'
import type { ProjectPatch } from '@stackquay/contract'
import { z } from 'zod'
import type { OfferedLine } from '../src/choose-line.ts'
import type { Offers } from '../src/merge-project.ts'

/** For tests of whoever changes projects: any project and any patch. Random, but the same in every run, by the seed. */
export function generator(seed: number) {
  let state = seed
  const next = () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
  const below = (count: number) => Math.floor(next() * count)
  return {
    below,
    chance: (share: number) => next() < share,
    pick: <T>(from: readonly T[]): T => from[below(from.length)]!,
  }
}
export type Random = ReturnType<typeof generator>

type Fields = Readonly<Record<string, unknown>>
type Kind = RuntimeType | ServiceType

/** Of every kind the two newest lines, both available, the newest the default. */
export const offersOfAll: Offers = {
  runtimes: linesOf(runtimeTypes),
  databases: linesOf(databaseTypes),
  services: linesOf(serviceTypes),
}

function linesOf(
  kinds: readonly { readonly name: string; readonly releases: readonly { readonly version: string }[] }[],
): Record<string, readonly OfferedLine[]> {
  return Object.fromEntries(
    kinds.map(({ name, releases }) => [
      name,
      releases
        .slice(0, 2)
        .map(({ version }, index) => ({ version, available: true, default: index === 0, reason: null })),
    ]),
  )
}

export interface Taste {
  readonly runtimes: readonly string[]
  readonly services: readonly string[]
  readonly databases: readonly string[]
  readonly offers: Offers
  /** What a secret in the settings of a service is sent as. */
  secret(random: Random): unknown
  /** Whether limits are sent, which not every engine holds. */
  readonly limits?: boolean
  /** Fields that are never sent: `version`. */
  readonly without?: readonly string[]
}

export const allTypes: Pick<Taste, 'runtimes' | 'services' | 'databases'> = {
  runtimes: runtimeTypes.map(({ name }) => name),
  services: serviceTypes.map(({ name }) => name),
  databases: databaseTypes.flatMap(({ name, aliases }) => [name, ...aliases]),
}

/**
 * Settings of any runtime or service, valid by themselves, made from its own schema of changes: no kind and no field is
 * named here, so a new one is tried from its first day. `before` is what is stored of it.
 */
export function randomSettings(
  random: Random,
  kind: Kind,
  before: Fields | undefined,
  taste: Taste,
): Record<string, unknown> {
  const group = kind.kind === 'runtime' ? taste.offers.runtimes : taste.offers.services
  const versions = (group[kind.name] ?? []).filter((line) => line.available).map((line) => line.version)
  const secrets = kind.kind === 'service' ? kind.settings.secretFields.map((path) => path.join('.')) : []

  const fieldsOf = (schema: z.ZodObject, old: Fields | undefined, path: readonly string[], share: number) => {
    const fields: Record<string, unknown> = {}
    for (const [field, inner] of Object.entries(schema.shape as Record<string, z.ZodType>)) {
      const here = [...path, field]
      if (isWriteOnly(inner) || taste.without?.includes(field) === true || !random.chance(share)) continue
      if (field === 'version' && path.length === 0) {
        if (versions.length > 0) fields.version = random.pick(versions)
      } else if (kind.kind === 'service' && kind.alwaysPublished && field === 'exposePort') {
        fields.exposePort = true
      } else if (secrets.includes(here.join('.'))) {
        fields[field] = random.chance(0.2) ? null : taste.secret(random)
      } else {
        fields[field] = example(inner, old?.[field], here)
      }
    }
    return fields
  }

  const example = (schema: z.ZodType, old: unknown, path: readonly string[]): unknown => {
    if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault)
      return example(schema.unwrap() as z.ZodType, old, path)
    if (schema instanceof z.ZodNullable)
      return random.chance(0.25) ? null : example(schema.unwrap() as z.ZodType, old, path)
    // What is not there yet is sent whole, for some of its fields may be needed.
    if (schema instanceof z.ZodObject) return fieldsOf(schema, old as Fields, path, old == null ? 1 : 0.5)
    if (schema instanceof z.ZodBoolean) return random.chance(0.5)
    if (schema instanceof z.ZodEnum) return random.pick(schema.options as string[])
    if (schema instanceof z.ZodArray)
      return Array.from({ length: 1 + random.below(2) }, () => example(schema.element as z.ZodType, undefined, path))
    if (schema instanceof z.ZodRecord)
      return {
        [example(schema.keyType as z.ZodType, undefined, path) as string]: example(
          schema.valueType as z.ZodType,
          undefined,
          path,
        ),
      }
    const candidates = (schema instanceof z.ZodNumber ? numbers(random) : texts).filter(
      (value) => schema.safeParse(value).success,
    )
    if (candidates.length === 0) throw new Error(`No example fits ${kind.name}.${path.join('.')}: add one.`)
    return random.pick(candidates)
  }

  return fieldsOf(kind.settings.patch, before, [], 0.4)
}

const texts = ['web', 'app_main', '127.0.0.1', 'shop:app', '/', 'cmd/web', '256M', '0.5', '1g', '3.10', 'true']
const numbers = (random: Random) => [1 + random.below(65_535), 1 + random.below(9), random.below(2), 1.5, 512, 1024]

function isWriteOnly(schema: z.ZodType): boolean {
  if (schema.meta()?.writeOnly === true) return true
  return (
    (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) && isWriteOnly(schema.unwrap() as z.ZodType)
  )
}

/** What is stored of every runtime and service that a patch may speak of. */
export interface Stored {
  readonly runtimes: Readonly<Record<string, Fields>>
  readonly services: Readonly<Record<string, Fields>>
  readonly databases: Readonly<Record<string, { readonly type: string; readonly version: string }>>
}

/** A patch without variables, which are said differently in the API and behind it. */
export function randomPatch(random: Random, stored: Stored, taste: Taste): ProjectPatch {
  const patch: ProjectPatch = {}
  if (random.chance(0.3)) patch.name = `Shop ${random.below(9)}`
  for (const kind of runtimeTypes) {
    if (taste.runtimes.includes(kind.name) && random.chance(0.3))
      patch[kind.name] = randomSettings(random, kind, stored.runtimes[kind.name], taste)
  }
  for (const kind of serviceTypes) {
    if (!taste.services.includes(kind.name) || !random.chance(0.3)) continue
    const fields = randomSettings(random, kind, stored.services[kind.name], taste)
    const removes = kind.keepsData && random.chance(0.15)
    patch[kind.name] = removes ? { ...fields, enabled: false, removeData: true } : fields
  }
  if (taste.databases.length > 0 && random.chance(0.4)) {
    const name = random.pick(['main', 'other'])
    const there = stored.databases[name]
    patch.databases = {
      [name]: {
        ...(there === undefined ? { type: random.pick(taste.databases) } : {}),
        ...(random.chance(0.5) ? { exposePort: random.chance(0.5) } : {}),
        ...(there !== undefined && random.chance(0.3) ? { version: there.version } : {}),
      },
    }
  }
  if (taste.limits === true && random.chance(0.3))
    patch.limits = randomLimits(random, [...Object.keys(stored.services)])
  if (random.chance(0.3)) patch.healthCheck = random.pick([null, { path: '/up' }, { path: '/', timeoutSeconds: 9 }])
  return patch
}

/** `workloads` are names that there are. */
function randomLimits(random: Random, workloads: readonly string[]): NonNullable<ProjectPatch['limits']> | null {
  const some = () => ({
    ...(random.chance(0.5) ? { cpus: random.pick([null, 0.5, 2]) } : {}),
    ...(random.chance(0.5) ? { memoryBytes: random.pick([null, 2 ** 29, 2 ** 30]) } : {}),
    ...(random.chance(0.5) ? { pids: random.pick([null, 64, 512]) } : {}),
  })
  if (random.chance(0.2)) return null
  if (workloads.length === 0 || random.chance(0.5)) return some()
  return { ...some(), workloads: { [random.pick(workloads)]: random.pick([null, some()]) } }
}

/** Receivers of a variable: all runtimes, or some. */
export function randomReceivers(random: Random): { runtimes?: readonly string[] } {
  if (random.chance(0.5)) return {}
  const some = allTypes.runtimes.filter(() => random.chance(0.3))
  return { runtimes: some.length === 0 ? [random.pick(allTypes.runtimes)] : some }
}
