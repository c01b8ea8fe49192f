import type { Socket } from 'node:net'
import { type ProblemCode, ProblemError } from '@stackquay/contract'
import { STATUS_CODES } from './node-http.ts'
import { problemAnswer } from './problem-answer.ts'
import { requestIdOf } from './request-id.ts'
import { apiHeaders } from './security-headers.ts'

/** Answers what Node's parser could not read as a request; there is no request object then, only a socket. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const requestId = requestIdOf({ headers: {} } as Parameters<typeof requestIdOf>[0])
  const [code, detail] = meaning[error.code ?? ''] ?? (['invalid_request', 'The request is not valid HTTP.'] as const)
  const { status, headers, problem } = problemAnswer(new ProblemError(code, detail), { requestId, path: '/' })
  const body = JSON.stringify(problem)
  const lines = Object.entries({
    ...apiHeaders,
    ...headers,
    'x-request-id': requestId,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`)
}

const meaning: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers are larger than 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['invalid_request', 'The request did not arrive in time.'],
}
