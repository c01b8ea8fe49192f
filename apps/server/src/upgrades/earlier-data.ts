import { databasePart, dataOfPart, type Earlier } from '@stackquay/domain'
import type { ProjectRow } from '@stackquay/store'
import type { Backups } from '../backups/open-backups.ts'

/** What the rules ask of backups: which data of an earlier release line of this project's databases there is. */
export function earlierOf(
  { id, engine, spec }: Pick<ProjectRow, 'id' | 'engine' | 'spec'>,
  { known }: Pick<Backups, 'known'>,
): Earlier {
  return (database, line) => {
    const type = spec.databases[database]?.type
    const found = known.of(id).find(({ manifest }) => {
      const isUpgrade = manifest.source === 'before-upgrade' && manifest.engine === engine
      return isUpgrade && manifest.parts.some((part) => isData(part, database) && part.version === line)
    })
    const holds = found?.manifest.parts.some((part) => isData(part, database) && part.type === type)
    return found === undefined || holds !== true
      ? null
      : { backup: found.manifest.id, createdAt: found.manifest.createdAt }
  }
}

function isData({ id, type }: { readonly id: string; readonly type: string }, database: string): boolean {
  return id === databasePart(database) && dataOfPart({ id, type }) !== null
}
