import { texts } from '../texts/index.ts'

export interface OfferedVersion {
  readonly version: string
  readonly fullVersion: string | null
  readonly default: boolean
  readonly available: boolean
  readonly endOfLife: string | null
}

export interface VersionChoice {
  readonly value: string
  readonly label: string
  readonly disabled: boolean
  readonly isDefault: boolean
}

/** Versions as choices; what is not here is shown greyed out rather than left out. */
export function versionChoices(
  versions: readonly OfferedVersion[],
  today = new Date().toISOString().slice(0, 10),
): readonly VersionChoice[] {
  return versions.map(({ version, fullVersion, default: isDefault, available, endOfLife }) => {
    const notes = [
      fullVersion !== null && fullVersion !== version ? fullVersion : null,
      available ? null : texts.create.unavailable,
      endOfLife !== null && endOfLife < today ? texts.create.endOfLifePast(endOfLife) : null,
    ].filter((note) => note !== null)
    return {
      value: version,
      label: notes.length === 0 ? version : `${version} (${notes.join(', ')})`,
      disabled: !available,
      isDefault,
    }
  })
}
