import { databaseTypeOf } from '@stackquay/catalog'
import type { FieldError } from '@stackquay/contract'
import { filesPart, settingsPart } from './backup-parts.ts'
import { serviceTypeIn } from './service-types.ts'
import type { ProjectSpec } from './spec.ts'

/** A part as a backup has it. */
export interface HeldPart {
  readonly id: string
  readonly title: string
  readonly type: string
  readonly version: string | null
}

/**
 * Pure: why parts of a backup cannot be put back into a project as it is, each with what to do. The data of a database is read by its own
 * release line alone; what a service reads its type says.
 */
export function restoreBlockers(
  parts: readonly HeldPart[],
  spec: Pick<ProjectSpec, 'databases' | 'services' | 'addons'>,
): readonly FieldError[] {
  return parts.flatMap((part) => {
    const detail = blockerOf(part, spec)
    return detail === null ? [] : [{ pointer: '/parts', code: 'cannot_restore', detail: `${part.id}: ${detail}` }]
  })
}

function blockerOf(
  { id, title, type, version }: HeldPart,
  spec: Pick<ProjectSpec, 'databases' | 'services' | 'addons'>,
): string | null {
  const { databases, services } = spec
  if (id === settingsPart || id === filesPart) return null
  if (id.startsWith('database:')) {
    const name = id.slice('database:'.length)
    const there = Object.hasOwn(databases, name) ? databases[name] : undefined
    const label = databaseTypeOf(type)?.label ?? type
    if (there === undefined)
      return `the project has no database "${name}" now. Add it as ${label} ${version}, or restore into a new project.`
    if (there.type !== type)
      return `the database "${name}" is ${databaseTypeOf(there.type)?.label ?? there.type} now, and the backup holds ${label}. Restore into a new project.`
    if (version !== null && there.version !== version)
      return `the database "${name}" is version ${there.version} now, and the backup holds data of ${version}. ${wayOn(type, version, there.version)}`
    return null
  }
  const kind = serviceTypeIn(spec, type)
  const there = services[type]
  if (kind === undefined)
    return `this version of Stackquay has no service "${type}", and the project no addon of that name.`
  if (there === undefined) return `the project has no ${title} now. Enable it, or restore into a new project.`
  return version === null ? null : kind.dataBlocker(kind.lineOf(version), kind.lineOf(there.version))
}

/** A version is changed to a later one, and never back with data of its own. */
function wayOn(type: string, held: string, now: string): string {
  const lines = (databaseTypeOf(type)?.releases ?? []).map(({ version }) => version)
  const [heldAt, nowAt] = [lines.indexOf(held), lines.indexOf(now)]
  return heldAt >= 0 && nowAt >= 0 && heldAt < nowAt
    ? `Change its version to ${held} first, or restore into a new project.`
    : 'Restore into a new project, and change the version there.'
}
