import type { Manifest, PartEntry } from '@stackquay/archive'
import { type AddonDefinition, ProblemError } from '@stackquay/contract'
import { type ProjectSpec, secretsOfPart, servicePart, settingsPart } from '@stackquay/domain'
import type { Backups } from './open-backups.ts'
import { type BackedUpSettings, readSettings } from './settings-part.ts'

export interface OpenedBackup {
  readonly manifest: Manifest
  /** Null where they do not open here and none of the parts needs them. */
  readonly settings: BackedUpSettings | null
}

/** A backup with what it says of a project. Throws `backup_locked` where these parts are of no use without. */
export async function openBackup(
  id: string,
  parts: readonly string[],
  { known, keys, folder, addons }: Backups,
): Promise<OpenedBackup> {
  const manifest = known.find(id)?.manifest
  if (manifest === undefined) throw new ProblemError('not_found', `There is no backup "${id}".`)
  const needs = manifest.parts.some((part) => parts.includes(part.id) && needsSettings(part))
  if (!needs && !keys.opensHere(manifest)) return { manifest, settings: null }
  const identity = await keys.identityOf(manifest)
  const sealed = folder.open(id, settingsPart)
  const settings = await readSettings(sealed, identity)
  return { manifest, settings: { ...settings, spec: withAddonsOfHere(settings.spec, parts, addons()) } }
}

/**
 * A backup may come from anybody, and only administrators decide what an addon runs: its definitions give way to those of this
 * instance, and what this instance has none of is refused, or left out where it was not asked for or was off.
 */
export function withAddonsOfHere(
  spec: ProjectSpec,
  parts: readonly string[],
  known: Readonly<Record<string, AddonDefinition>>,
): ProjectSpec {
  const names = Object.keys(spec.addons ?? {})
  if (names.length === 0) return spec
  const strangers = names.filter((name) => !Object.hasOwn(known, name))
  const isOn = (name: string) => spec.services[name]?.enabled === true
  const wanted = strangers.find(
    (name) => parts.includes(servicePart(name)) || (parts.includes(settingsPart) && isOn(name)),
  )
  if (wanted !== undefined)
    throw new ProblemError(
      'unavailable_here',
      `The backup has the addon "${wanted}", and this instance has none of that name.`,
      {
        hint: 'An administrator adds it first (stq addon add), or restore other parts.',
      },
    )
  const { addons: _addons, ...rest } = spec
  const kept = names.filter((name) => !strangers.includes(name))
  const services = Object.entries(spec.services).filter(([name]) => !strangers.includes(name))
  return {
    ...rest,
    services: Object.fromEntries(services),
    ...(kept.length === 0 ? {} : { addons: Object.fromEntries(kept.map((name) => [name, known[name]!])) }),
  }
}

/** The data of most types knows passwords that stand in the settings alone. */
function needsSettings(part: PartEntry): boolean {
  return part.id === settingsPart || secretsOfPart(part).length > 0
}
