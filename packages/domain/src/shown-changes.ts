import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Plan } from '@stackquay/contract'
import { isObject } from './fields.ts'
import type { EnvVariable, ProjectSpec } from './spec.ts'

/** Before and after, only where they differ; secrets are names in a specification, so none can be in it. */
export function changesOf(before: ProjectSpec, after: ProjectSpec): Record<string, Changed> {
  const changed: Record<string, Changed> = {}
  const flat = (spec: ProjectSpec): Record<string, unknown> => ({
    name: spec.name,
    ...prefixed('runtimes', spec.runtimes),
    ...prefixed('services', spec.services),
    ...prefixed('addons', mapValues(spec.addons ?? {}, definitionForPeople)),
    ...prefixed('databases', spec.databases),
    ...prefixed('env', mapValues(spec.env, variableForPeople)),
    healthCheck: spec.healthCheck,
    limits: spec.limits,
    sleep: spec.sleep ?? null,
    branches: spec.branches ?? null,
    ...prefixed('pull', spec.pull ?? {}),
    ...prefixed('hooks', (spec.hooks ?? {}) as Readonly<Record<string, unknown>>),
    ...prefixed('workers', spec.workers ?? {}),
    ...prefixed('cron', spec.cron ?? {}),
  })
  const old = flat(before)
  const now = flat(after)
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
    const change = withoutTexts(old[name] ?? null, now[name] ?? null)
    if (!isDeepStrictEqual(change.before, change.after)) changed[name] = change
  }
  return changed
}

/** The same field by field, under the names that a body of PATCH has: `node.port`, `env.GREETING`. */
export function changedFields(before: ProjectSpec, after: ProjectSpec): Plan['plan']['changes'] {
  return Object.entries(changesOf(before, after)).flatMap(([name, change]) => {
    const field = name.replace(/^(runtimes|services)\./, '')
    if (!isObject(change.before) || !isObject(change.after)) return [{ field, ...change }]
    const { before: old, after: now } = { before: change.before, after: change.after }
    return [...new Set([...Object.keys(old), ...Object.keys(now)])]
      .filter((key) => !isDeepStrictEqual(old[key], now[key]))
      .map((key) => ({ field: `${field}.${key}`, before: old[key] ?? null, after: now[key] ?? null }))
  })
}

/** Its file is told by its digest alone. */
function definitionForPeople(definition: unknown): unknown {
  return { definition: createHash('sha256').update(JSON.stringify(definition)).digest('hex').slice(0, 12) }
}

export interface Changed {
  readonly before: unknown
  readonly after: unknown
}

function variableForPeople(variable: EnvVariable): unknown {
  const value = variable.secret ? variable.ref : variable.value
  return variable.runtimes === undefined ? value : { value, runtimes: variable.runtimes }
}

/** The text of a variable that becomes a secret is one already: where one side is secret, the other is not told either. */
function withoutTexts(before: unknown, after: unknown): Changed {
  const told = { before: withoutReferences(before), after: withoutReferences(after) }
  if (hasReference(before) === hasReference(after)) return told
  return hasReference(before) ? { ...told, after: textless(after) } : { ...told, before: textless(before) }
}

function textless(value: unknown): unknown {
  if (isObject(value) && typeof value.value === 'string') return { ...value, value: 'plain' }
  return typeof value === 'string' ? 'plain' : value
}

function hasReference(value: unknown): boolean {
  return isReference(value) || (isObject(value) && isReference(value.value))
}

function isReference(value: unknown): boolean {
  return isObject(value) && typeof value.secret === 'string' && typeof value.version === 'number'
}

/** A reference to a secret is told by its version, which is all that a person can make of it. */
function withoutReferences(value: unknown): unknown {
  if (!isObject(value)) return value
  if (typeof value.secret === 'string' && typeof value.version === 'number')
    return value.version === 0 ? 'secret, new' : `secret, version ${value.version}`
  return mapValues(value, withoutReferences)
}

function prefixed(prefix: string, entries: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entries).map(([name, value]) => [`${prefix}.${name}`, value]))
}

function mapValues<In, Out>(record: Readonly<Record<string, In>>, change: (value: In) => Out): Record<string, Out> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
