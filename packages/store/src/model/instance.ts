/** What the instance remembers of itself: a short id, and the origin that its sessions were made under. */
export type InstanceValue = 'id' | 'session_origin'

export interface InstanceReader {
  get(name: InstanceValue): Promise<string | null>
}

export interface InstanceWriter {
  set(name: InstanceValue, value: string): Promise<void>
}
