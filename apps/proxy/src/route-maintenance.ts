import { fail, fields, text, texts } from './route-fields.ts'

/** The project is shown to nobody but those who work on it. */
export interface RouteMaintenance {
  /** Seconds. */
  readonly retryAfter: number
  /** Addresses and blocks that are let in. */
  readonly allow: readonly string[]
  /** Shown in place of our own sentence. */
  readonly message?: string
  /** A page of the project, in HTML, in place of ours. */
  readonly page?: string
}

export function parseMaintenance(input: unknown, at: string): RouteMaintenance {
  const { retryAfter, allow, message, page } = fields(input, at, ['retryAfter', 'allow', 'message', 'page'])
  if (!Number.isSafeInteger(retryAfter) || (retryAfter as number) < 1)
    fail(`${at}.retryAfter`, 'must be a whole number of seconds, 1 or more')
  return {
    retryAfter: retryAfter as number,
    allow: texts(allow, `${at}.allow`),
    ...(message !== undefined && { message: text(message, `${at}.message`) }),
    ...(page !== undefined && { page: text(page, `${at}.page`) }),
  }
}
