import type { SeenBackup } from '@stackquay/domain'
import type { OperationRow } from '@stackquay/store'
import type { KnownBackup } from './known-backups.ts'
import type { Backups } from './open-backups.ts'

export type SeenBackups = Pick<Backups, 'known' | 'copies' | 'own'>

/** The backups that the schedule of a project made, as the rules see them; null: of the instance itself. */
export async function scheduledBackups(backups: SeenBackups, project: string | null): Promise<readonly SeenBackup[]> {
  const { known, copies, own } = backups
  if (project !== null)
    return known
      .of(project)
      .filter(({ manifest }) => manifest.source === 'schedule')
      .map((one) => seen(one, copies))
  const found = await own.archives.list()
  return found
    .filter(({ source }) => source === 'schedule')
    .map(({ id, createdAt }) => ({ id, createdAt, found: null, verifiedAt: null, copies: copies.of(id) }))
}

/** A backup or a drill that no person asked for. */
export function isBySchedule({ input }: Pick<OperationRow, 'input'>): boolean {
  return input.bySchedule === true
}

/** A drill that could not be made on this machine says nothing of the backup. */
function seen({ manifest: { id, createdAt }, verified }: KnownBackup, copies: Backups['copies']): SeenBackup {
  const drill = verified === null || verified.outcome === 'failed' ? null : verified
  return {
    id,
    createdAt,
    found: drill?.outcome === 'whole' ? 'whole' : drill === null ? null : 'faulty',
    verifiedAt: drill?.at ?? null,
    copies: copies.of(id),
  }
}
