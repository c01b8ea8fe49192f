import type { ProblemError } from '@stackquay/contract'
import { STATUS_CODES } from './node-http.ts'
import { problemAnswer } from './problem-answer.ts'
import { apiHeaders } from './security-headers.ts'

/** A problem as a whole HTTP/1.1 answer, for a socket that has no response object. The connection ends with it. */
export function problemBytes(error: ProblemError, request: { requestId: string; path: string }): Buffer {
  const { status, headers, problem } = problemAnswer(error, request)
  const body = Buffer.from(JSON.stringify(problem))
  const lines = Object.entries({
    ...apiHeaders,
    ...headers,
    'x-request-id': request.requestId,
    'content-length': String(body.length),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`
  return Buffer.concat([Buffer.from(head), body])
}
