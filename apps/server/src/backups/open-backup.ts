import type { Manifest, PartEntry } from '@stackquay/archive'
import { ProblemError } from '@stackquay/contract'
import { secretsOfPart, settingsPart } from '@stackquay/domain'
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
  { known, keys, folder }: Backups,
): Promise<OpenedBackup> {
  const manifest = known.find(id)?.manifest
  if (manifest === undefined) throw new ProblemError('not_found', `There is no backup "${id}".`)
  const needs = manifest.parts.some((part) => parts.includes(part.id) && needsSettings(part))
  if (!needs && !keys.opensHere(manifest)) return { manifest, settings: null }
  const identity = await keys.identityOf(manifest)
  const sealed = folder.open(id, settingsPart)
  return { manifest, settings: await readSettings(sealed, identity) }
}

/** The data of most types knows passwords that stand in the settings alone. */
function needsSettings(part: PartEntry): boolean {
  return part.id === settingsPart || secretsOfPart(part).length > 0
}
