import type { EventRecord } from '@stackquay/contract'

export interface EventReader {
  /** Oldest first. */
  after(seq: number, limit: number): Promise<readonly EventRecord[]>
  /** Lowest and highest kept sequence number; 0 when there are none. */
  range(): Promise<{ first: number; last: number }>
}

export interface EventWriter {
  append(event: {
    type: EventRecord['type']
    project: string | null
    data: Record<string, unknown>
  }): Promise<EventRecord>
  /** Forgets events below a sequence number. */
  trim(below: number): Promise<void>
}
