/**
 * What the instance remembers of itself: a short id, the name that its copies on targets carry, the schedule of its own backups (`''` when there
 * is none), the origin that its sessions were made under, and the backup that its state was
 * restored from, while something may be here that this state does not know (`''` when there is not).
 */
export type InstanceValue = 'id' | 'copier' | 'backup_schedule' | 'session_origin' | 'restored'

export interface InstanceReader {
  get(name: InstanceValue): Promise<string | null>
}

export interface InstanceWriter {
  set(name: InstanceValue, value: string): Promise<void>
}
