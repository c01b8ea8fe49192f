export type StoredAnswer =
  | { readonly state: 'running'; readonly fingerprint: string }
  | {
      readonly state: 'done'
      readonly fingerprint: string
      readonly status: number
      readonly headers: Record<string, string>
      readonly body: string
    }

export interface IdempotencyReader {
  find(caller: string, key: string): Promise<StoredAnswer | null>
}

export interface IdempotencyWriter {
  /** Reserves the key for this request; answers the stored answer when it is taken. */
  reserve(
    caller: string,
    key: string,
    fingerprint: string,
  ): Promise<{ reserved: true } | { reserved: false; stored: StoredAnswer }>
  complete(
    caller: string,
    key: string,
    answer: { status: number; headers: Record<string, string>; body: string },
  ): Promise<void>
  /** After a request that failed in the service (5xx) or was ended, so that it can be sent again. */
  forget(caller: string, key: string): Promise<void>
  expire(before: string): Promise<void>
  /** Once, at the start of the service: requests that were running when it ended can be sent again. */
  forgetRunning(): Promise<void>
}
