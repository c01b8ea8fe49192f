import type { FieldError } from '@stackquay/contract'
import { serviceTypeIn } from './service-types.ts'
import type { ProjectSpec } from './spec.ts'

export type Reverted =
  | { readonly ok: true; readonly spec: ProjectSpec }
  | { readonly ok: false; readonly errors: readonly FieldError[] }

/**
 * The settings as they were carried out last, to be the newest ones again. The name stays: it needs nothing to be carried out. A service
 * that is new is switched off and keeps what it has, as any service that is switched off. No data is deleted and none is handed to
 * an older version by going back, so where databases, versions or what else data goes by differ it is refused. Pure.
 */
export function revertSpec(now: ProjectSpec, held: ProjectSpec): Reverted {
  const errors = [...databaseErrors(now, held), ...serviceErrors(now, held)]
  if (errors.length > 0) return { ok: false, errors }
  const fresh = Object.entries(now.services).filter(([name]) => entry(held.services, name) === undefined)
  const off = Object.fromEntries(fresh.map(([name, settings]) => [name, { ...settings, enabled: false }]))
  const addons = now.addons === undefined ? {} : { addons: { ...now.addons, ...held.addons } }
  return { ok: true, spec: { ...held, name: now.name, services: { ...held.services, ...off }, ...addons } }
}

function databaseErrors(now: ProjectSpec, held: ProjectSpec): readonly FieldError[] {
  const names = [...new Set([...Object.keys(now.databases), ...Object.keys(held.databases)])]
  return names.flatMap((name) => {
    const [newest, before] = [entry(now.databases, name), entry(held.databases, name)]
    if (before === undefined)
      return [error(`/databases/${name}`, `The database "${name}" is new. Drop it first, or apply the settings.`)]
    if (newest === undefined)
      return [error(`/databases/${name}`, `The database "${name}" was dropped. Apply the settings.`)]
    if (newest.type === before.type && newest.version === before.version) return []
    const detail = `The database "${name}" was to become ${newest.type} ${newest.version}, and may have data of it. Apply the settings.`
    return [error(`/databases/${name}/version`, detail)]
  })
}

function serviceErrors(now: ProjectSpec, held: ProjectSpec): readonly FieldError[] {
  return Object.entries(held.services).flatMap(([name, before]) => {
    const newest = entry(now.services, name)
    const fields = ['version', ...(serviceTypeIn(held, name)?.settings.ofData ?? [])]
    return fields.flatMap((field) => {
      if (newest === undefined || newest[field] === before[field]) return []
      const detail = `"${field}" of "${name}" was to become ${String(newest[field])}, and it may have data of that. Apply the settings.`
      return [error(`/${name}/${field}`, detail)]
    })
  })
}

function entry<Value>(map: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined
}

function error(pointer: string, detail: string): FieldError {
  return { pointer, code: 'holds_data', detail }
}
