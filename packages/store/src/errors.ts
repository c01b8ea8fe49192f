/** A unique value is held by somebody else. `what` is `slug`, `username` or `token name`. */
export class TakenError extends Error {
  override readonly name = 'TakenError'
  readonly what: string
  readonly holder: string | null
  constructor(what: string, holder: string | null) {
    super(holder === null ? `The ${what} is taken.` : `The ${what} is taken by ${holder}.`)
    this.what = what
    this.holder = holder
  }
}

/** The row was changed since it was read, or is gone. */
export class ChangedError extends Error {
  override readonly name = 'ChangedError'
}

/** Every port of the range is leased. */
export class NoPortError extends Error {
  override readonly name = 'NoPortError'
}

/** `missing`: there is no such secret. `other_key`: it was sealed with another key. `damaged`: its bytes were changed. */
export class SecretError extends Error {
  override readonly name = 'SecretError'
  readonly reason: 'missing' | 'other_key' | 'damaged'
  constructor(reason: SecretError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

/** The database cannot be used as it is; the message says why and what to do. The service refuses to start. */
export class StoreUnusableError extends Error {
  override readonly name = 'StoreUnusableError'
}

/** Nothing of the transaction was written, and all that was written before is safe. Waiting helps once there is space. */
export class StoreFullError extends Error {
  override readonly name = 'StoreFullError'
}

/** Another process kept the database locked for too long; nothing was written. Waiting helps. */
export class StoreBusyError extends Error {
  override readonly name = 'StoreBusyError'
}
