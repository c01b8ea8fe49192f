import type { Reply } from './handler.ts'
import type { Answer } from './idempotency.ts'

/** A handler's reply as bytes and headers. Cookies are no part of it: they are never stored with an idempotency key. */
export function answerOf({ status, body, json, etag, headers }: Reply<unknown>): Answer<string | Buffer> {
  const text = json ?? (body === undefined ? '' : JSON.stringify(body))
  if (text !== '' && etag === undefined && headers === undefined) return { status, headers: jsonType, body: text }
  return {
    status,
    headers: {
      ...(text === '' ? {} : jsonType),
      ...(etag === undefined ? {} : { etag: `"${etag}"` }),
      ...headers,
    },
    body: text,
  }
}

const jsonType = Object.freeze({ 'content-type': 'application/json; charset=utf-8' })
