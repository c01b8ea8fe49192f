import type { ServerHttp2Stream } from 'node:http2'
import { documentOf, errorHeaders } from '../answer.ts'
import type { ErrorResponse } from '../error-responses.ts'
import type { GateAnswer } from '../gate/rule.ts'
import type { H2Request } from './h2-request.ts'
import { certificateOf } from './names.ts'
import { hsts } from './policy.ts'

const lower = new Map<string, string>()

/** Names are in lower case in HTTP/2. Projects spell few names in few ways; bounded, because one can invent more. */
export function lowerCase(name: string): string {
  const known = lower.get(name)
  if (known !== undefined) return known
  const text = name.toLowerCase()
  if (lower.size < 2_000) lower.set(name, text)
  return text
}

/** The head of an answer as a flat list. What a project says itself of HSTS stays. */
export function answerHead(request: H2Request, status: number, headers: readonly string[]): string[] {
  const head = [':status', `${status}`]
  const seconds = certificateOf(request)?.hstsSeconds ?? null
  let isSaid = seconds === null
  for (let index = 0; index < headers.length; index += 2) {
    const name = lowerCase(headers[index]!)
    if (name === hsts) isSaid = true
    head.push(name, headers[index + 1]!)
  }
  if (!isSaid) head.push(hsts, `max-age=${seconds}`)
  return head
}

/** Sends an answer of the proxy itself; answers how many bytes its body has. */
export async function sayError(
  stream: ServerHttp2Stream,
  request: H2Request,
  error: ErrorResponse,
  more: GateAnswer['headers'] = [],
): Promise<number> {
  const body = await documentOf(error, request.headers.accept)
  if (stream.destroyed || stream.headersSent) return 0
  const fields = { ...body.headers, ...errorHeaders(error) }
  const flat = [...more.flat(), ...Object.entries(fields).flatMap(([name, value]) => [name, String(value)])]
  sendHead(stream, answerHead(request, error.status, flat), request.method === 'HEAD')
  if (request.method !== 'HEAD') stream.end(body.text)
  return body.headers['content-length']
}

/** False when the client has left meanwhile. */
export function sendHead(
  stream: ServerHttp2Stream,
  head: readonly string[],
  isAll: boolean,
  trailers = false,
): boolean {
  if (stream.destroyed || stream.closed || stream.headersSent) return false
  stream.respond(head as unknown as Parameters<ServerHttp2Stream['respond']>[0], {
    endStream: isAll,
    ...(trailers && { waitForTrailers: true }),
  })
  return true
}

/** The same fields by name, for what Node takes in no other form. Without a prototype: projects may call a header `constructor`. */
export function fieldsOf(headers: readonly string[]): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = Object.create(null)
  for (let index = 0; index < headers.length; index += 2) {
    const name = lowerCase(headers[index]!)
    const before = fields[name]
    const value = headers[index + 1]!
    fields[name] = before === undefined ? value : [...(typeof before === 'string' ? [before] : before), value]
  }
  return fields
}
