import type { SeenBackup } from '@stackquay/domain'
import type { OperationRow } from '@stackquay/store'
import type { KnownBackup } from './known-backups.ts'
import type { Backups } from './open-backups.ts'

/** The backups that a project's schedule made, as the rules see them. */
export function scheduledBackups(
  { known, copies }: Pick<Backups, 'known' | 'copies'>,
  project: string,
): readonly SeenBackup[] {
  return known
    .of(project)
    .filter(isScheduled)
    .map((one) => seen(one, copies))
}

/** A backup or a drill that no person asked for. */
export function isBySchedule({ input }: Pick<OperationRow, 'input'>): boolean {
  return input.bySchedule === true
}

function isScheduled({ manifest }: KnownBackup): boolean {
  return manifest.source === 'schedule'
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
