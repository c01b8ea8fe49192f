import { ApiError, type ClientOptions, ConnectionError, createClient } from '@stackquay/client'
import { refuse, send } from '@stackquay/client/transport'
import type { Problem } from '@stackquay/contract'
import { texts } from '../texts/index.ts'
import { sessionKey } from './session-key.ts'

let whenUnauthorized: () => unknown = () => {}

const options: ClientOptions = {
  baseUrl: '',
  clientName: 'ui',
  csrfToken: sessionKey,
  onUnauthorized: () => whenUnauthorized(),
}

/** The one client of the page. A session is its cookie and the key that this origin keeps. */
export const client = createClient(options)

/** What answers a request that is no address, as a file: the page holds it until it is whole. */
export async function fileOf(path: string, body: object): Promise<Blob> {
  const response = await send(options, { method: 'POST', path, body }, {})
  return response.ok ? response.blob() : refuse(options, response)
}

/** The bytes of a file, with the ETag that a change of it needs; null when there are more than `most`. */
export async function bytesAt(
  path: string,
  most: number,
): Promise<{ readonly bytes: Uint8Array; readonly etag: string } | null> {
  const response = await send(options, { method: 'GET', path }, {})
  if (!response.ok) return refuse(options, response)
  if (Number(response.headers.get('content-length')) > most) {
    await response.body?.cancel()
    return null
  }
  return { bytes: new Uint8Array(await response.arrayBuffer()), etag: response.headers.get('etag') ?? '' }
}

/** What happens when a request was refused for its credentials: the session may have ended while the page was open. */
export function onSessionEnd(act: () => unknown): void {
  whenUnauthorized = act
}

/** Any failure as a problem, so that all are shown in one way. */
export function problemFrom(error: unknown): Problem {
  if (error instanceof ApiError) return error.problem
  if (error instanceof ConnectionError)
    return { ...error.problem, title: texts.errors.noAnswer, hint: texts.errors.noAnswerHint }
  const detail = error instanceof Error ? error.message : String(error)
  return {
    type: 'about:blank',
    title: texts.errors.unexpected,
    status: 0,
    detail,
    code: 'internal_error',
    hint: texts.errors.unexpectedHint,
    retryable: false,
  }
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.problem.status === status
}
