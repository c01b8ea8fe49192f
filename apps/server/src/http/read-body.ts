import type { IncomingHttpHeaders } from 'node:http'
import { type Operation, ProblemError } from '@stackquay/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { jsonShape } from '../json-shape.ts'

export const bodyLimit = 1024 * 1024

/** What forges send of a push with thousands of commits. */
export const rawBodyLimit = 5 * 1024 * 1024

/** A body that is parsed has arrived after so long, or its connection ends. */
const bodyMs = 60_000

/** Before a body is read that is parsed: one that never ends holds nobody. */
export function inTime<Payload>(
  request: FastifyRequest,
  _reply: FastifyReply,
  payload: Payload,
  done: (error: null, payload: Payload) => void,
): void {
  const { raw } = request
  if (hasBody(raw.headers) && !raw.complete) {
    const timer = setTimeout(() => raw.destroy(), bodyMs)
    raw.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
  }
  done(null, payload)
}

/** Why the operation would not understand the body, told before it is read; null when it may. */
export function mediaTypeProblem(operation: Operation, headers: IncomingHttpHeaders): ProblemError | null {
  if (operation.body === undefined || (!hasBody(headers) && operation.bodyStream !== true)) return null
  const sent = headers['content-type'] ?? ''
  const [type = '', ...parameters] = sent
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  const known = [...(operation.bodyStream === true ? [] : ['application/json']), ...(operation.bodyTypes ?? [])]
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '')
  if (known.includes(type) && (charset === undefined || charset === 'utf-8' || charset === 'utf8')) return null
  return new ProblemError(
    'unsupported_media_type',
    type === '' ? 'The body has no Content-Type.' : `The body is "${sent}".`,
    {
      hint: `Send ${known.join(' or ')} in UTF-8.`,
    },
  )
}

export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** An empty body is an absent one. */
export function readJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  refuseShape(bytes)
  const text = textOf(bytes)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ProblemError('invalid_json', `The body is not valid JSON: ${withoutExcerpt((error as Error).message)}.`)
  }
  if (suspicious.test(text)) refusePrototypes(value, '')
  return value
}

/**
 * A body of 1 MiB can hold half a million values, and checking them takes seconds in which nobody else is answered. No
 * operation needs more than these.
 */
const mostValues = 5000
const deepest = 50

function refuseShape(bytes: Buffer): void {
  const { depth, values } = jsonShape(bytes)
  if (depth > deepest) {
    throw new ProblemError('too_large', `The body is nested ${depth} deep; it may be nested ${deepest} deep.`, {
      hint: 'Send less in each request.',
    })
  }
  if (values > mostValues) {
    throw new ProblemError('too_large', `The body has about ${values} values; it may have ${mostValues}.`, {
      hint: 'Send less in each request.',
    })
  }
}

/** The parser quotes from the text it was given, and that may hold a password. */
function withoutExcerpt(message: string): string {
  return message.replace(/, [^,]*"[\s\S]*" is not valid JSON$/, '')
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function textOf(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new ProblemError('invalid_json', 'The body is not valid UTF-8.', { hint: 'Send JSON in UTF-8.' })
  }
}

/** `__proto__`, also with letters written as escapes. */
const suspicious = /__proto__|\\u00(5f|70|72|6f|74)/i

/** Schemas skip this name silently; a field that vanishes without a word would be worse than a refusal. */
function refusePrototypes(value: unknown, pointer: string): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, '__proto__')) {
    const errors = [
      { pointer: `${pointer}/__proto__`, code: 'unknown_field', detail: 'The name "__proto__" cannot be used.' },
    ]
    throw new ProblemError('validation_failed', 'The name "__proto__" cannot be used.', { errors })
  }
  for (const [name, inner] of Object.entries(value)) refusePrototypes(inner, `${pointer}/${name}`)
}
