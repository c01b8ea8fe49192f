import type { Socket } from 'node:net'
import { type ProblemCode, ProblemError } from '@stackquay/contract'
import { problemBytes } from './problem-bytes.ts'
import { requestIdOf } from './request-id.ts'

/** Answers what Node's parser could not read as a request; there is no request object then, only a socket. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const requestId = requestIdOf({ headers: {} } as Parameters<typeof requestIdOf>[0])
  const [code, detail] = meaning[error.code ?? ''] ?? (['invalid_request', 'The request is not valid HTTP.'] as const)
  socket.end(problemBytes(new ProblemError(code, detail), { requestId, path: '/' }))
}

const meaning: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers are larger than 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['invalid_request', 'The request did not arrive in time.'],
}
