import type { OperationRow } from '@stackquay/store'
import type { KnownBackup, KnownBackups } from './known-backups.ts'

type Known = Pick<KnownBackups, 'of'>

/** The backups that a project's schedule made, as the rules see them. */
export function scheduledBackups(known: Known, project: string) {
  return known.of(project).filter(isScheduled).map(seen)
}

/** Null when there is none. One that a wrong clock made ahead of time is none. */
export function lastScheduledAt(known: Known, project: string, now: Date): string | null {
  const times = scheduledBackups(known, project).map(({ createdAt }) => createdAt)
  return times.find((time) => time <= now.toISOString()) ?? null
}

/** A backup or a drill that no person asked for. */
export function isBySchedule({ input }: Pick<OperationRow, 'input'>): boolean {
  return input.bySchedule === true
}

function isScheduled({ manifest }: KnownBackup): boolean {
  return manifest.source === 'schedule'
}

/** A drill that could not be made on this machine says nothing of the backup. */
function seen({ manifest: { id, createdAt }, verified }: KnownBackup) {
  const drill = verified === null || verified.outcome === 'failed' ? null : verified
  return {
    id,
    createdAt,
    found: drill?.outcome === 'whole' ? 'whole' : drill === null ? null : 'faulty',
    verifiedAt: drill?.at ?? null,
  } as const
}
