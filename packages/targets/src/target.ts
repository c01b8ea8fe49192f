/**
 * A place outside the instance that keeps objects: a folder, a bucket, a folder of another machine. It knows nothing of backups and
 * can read none of them. Every method throws `TargetError` for what it cannot do, and the signal's reason when that aborts.
 */
export interface Target {
  /** All of it or nothing; what was there by this name is replaced. When it resolves, the target says that it is stored. */
  put(name: string, bytes: Uint8Array, signal: AbortSignal): Promise<void>
  /** Null when there is none. One that is larger than `mostBytes` is `damaged`: what lies there may be anybody's. */
  get(name: string, mostBytes: number, signal: AbortSignal): Promise<Buffer | null>
  /** Size in bytes; null when there is none. */
  stat(name: string, signal: AbortSignal): Promise<number | null>
  /** The objects right in a folder by their names in it, with their sizes. What has no name of an object is left out. */
  list(folder: string, signal: AbortSignal): Promise<ReadonlyMap<string, number>>
  /** The folders right in a folder that have the name of an object; empty ones may be among them. */
  folders(folder: string, signal: AbortSignal): Promise<readonly string[]>
  /** When the newest object right in a folder was written, by the target's own clock: milliseconds since 1970. Null when there is none. */
  changedAt(folder: string, signal: AbortSignal): Promise<number | null>
  /** Nothing happens when there is none. */
  remove(name: string, signal: AbortSignal): Promise<void>
  /** How many bytes still fit; null where nobody can say. */
  freeBytes(signal: AbortSignal): Promise<number | null>
  /** Ends connections. The next call opens them again. */
  close(): Promise<void>
}

/** What an object may be called: safe in every folder and every URL. */
const namePattern = /^[a-z0-9][a-z0-9.-]{0,99}(\/[a-z0-9][a-z0-9.-]{0,99}){0,3}$/

export function isObjectName(name: string): boolean {
  return namePattern.test(name)
}

/** Of times in milliseconds; null when there is none. There may be more than a call takes as arguments. */
export function newest(times: readonly number[]): number | null {
  return times.reduce<number | null>((last, time) => (last === null || time > last ? time : last), null)
}

/** Names come from this package alone; one that is none is a fault of it. */
export function requireName(name: string): string {
  if (!isObjectName(name)) throw new TypeError(`Not a name of an object: ${name}`)
  return name
}

/**
 * - `unreachable`: no connection, or an answer that says that waiting helps
 * - `refused`: credentials or rights do not do, or it does not understand what is asked
 * - `missing`: the bucket or folder is not there
 * - `full`: no room
 * - `host_key`: the machine shows another key than it is known by
 * - `key_changed`: the key file is gone, or is another one
 * - `locked`: the passphrase is missing or wrong
 * - `not_kept`: what is read back is not what was written a moment ago
 * - `damaged`: what lies there is not what was written once
 */
export type TargetErrorCode =
  | 'unreachable'
  | 'refused'
  | 'missing'
  | 'full'
  | 'host_key'
  | 'key_changed'
  | 'locked'
  | 'not_kept'
  | 'damaged'

export class TargetError extends Error {
  override readonly name = 'TargetError'
  readonly code: TargetErrorCode

  /** `message`: one sentence for people. It names no credentials. */
  constructor(code: TargetErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }

  /** Whether waiting helps. */
  get retryable(): boolean {
    return this.code === 'unreachable'
  }
}
