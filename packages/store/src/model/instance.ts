/**
 * What the instance remembers of itself: a short id, the origin that its sessions were made under, and the backup that its state was
 * restored from, while something may be here that this state does not know (`''` when there is not).
 */
export type InstanceValue = 'id' | 'session_origin' | 'restored'

export interface InstanceReader {
  get(name: InstanceValue): Promise<string | null>
}

export interface InstanceWriter {
  set(name: InstanceValue, value: string): Promise<void>
}
