import { isDeepStrictEqual } from 'node:util'
import type { FieldError } from '@stackquay/contract'
import type { ProjectSpec } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'

/** Why an engine sets no limits, and what to do; null when it does, or when nobody knows of it. */
export function limitsUnavailable(engine: Engine | null): string | null {
  if (engine === null || engine.capabilities.limits) return null
  return engine.capabilities.withoutLimits ?? 'Choose an engine that runs containers for the project.'
}

/** An engine that cannot hold a program to its limits must not let a person believe that it does. */
export function limitsBlocker(engine: Engine | null, before: ProjectSpec, after: ProjectSpec): readonly FieldError[] {
  const { limits } = after
  if (engine === null || engine.capabilities.limits) return []
  if (limits === null || isDeepStrictEqual(limits, before.limits)) return []
  const { workloads = {}, ...ofProject } = limits
  const set = (pointer: string, fields: object) =>
    Object.entries(fields).flatMap(([field, value]) => (value === null ? [] : [`${pointer}/${field}`]))
  const pointers = [
    ...set('/limits', ofProject),
    ...Object.entries(workloads).flatMap(([name, own]) => set(`/limits/workloads/${name}`, own)),
  ]
  const detail = `The engine "${engine.id}" cannot limit what a program uses. ${limitsUnavailable(engine)} Leave it out or send null.`
  return pointers.map((pointer) => ({ pointer, code: 'engine_cannot', detail }))
}
