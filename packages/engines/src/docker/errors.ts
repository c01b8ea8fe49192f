import { EngineError } from '@stackquay/engine-api'
import { asEngineError, errorCode } from '../native/errors.ts'

/** The HTTP status that Docker answered with. */
export function statusOf(error: unknown): number | null {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : null
}

/** Docker's message, without the client's words around it. */
export function messageOf(error: unknown): string {
  const json = error instanceof Error && 'json' in error ? (error.json as { message?: unknown } | null) : null
  if (typeof json?.message === 'string') return json.message.trim()
  const message = error instanceof Error ? error.message : String(error)
  return message.replace(/^\(HTTP code \d+\) .*? - /, '').trim()
}

/** Null when Docker has no such object. */
export async function orAbsent<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise
  } catch (error) {
    if (statusOf(error) === 404) return null
    throw error
  }
}

const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
])

/** Whether there was no daemon that could answer, so that nothing was learnt. */
export function isUnreachable(error: unknown): boolean {
  const code = errorCode(error) ?? ''
  if (UNREACHABLE.has(code) || isTlsError(error)) return true
  if ((code === 'ENOENT' || code === 'EACCES') && error instanceof Error && 'syscall' in error)
    return error.syscall === 'connect'
  // A daemon that ends answers what it still can.
  return /socket hang up|daemon is shutting down/i.test(messageOf(error))
}

/** A refusal of Docker's, in words for the person who must act. Engine errors pass unchanged. */
export function asDockerError(error: unknown, signal: AbortSignal): EngineError {
  if (error instanceof EngineError || signal.aborted) return asEngineError(error, signal)
  if (isUnreachable(error)) return unavailable(error)
  const message = messageOf(error)
  if (/no space left on device|disk quota exceeded/i.test(message)) {
    return new EngineError('disk_full', `The disk of Docker is full (${message}).`, {
      hint: 'Free some space, for example by deleting unused projects or images, then try again.',
      retryable: true,
      cause: error,
    })
  }
  if (statusOf(error) === null) return asEngineError(error, signal)
  const missing = /bind source path does not exist: (\S+)/.exec(message)
  if (missing !== null) {
    return new EngineError('io_failed', `The folder ${missing[1]} does not exist where Docker runs.`, {
      hint: 'Check the path of the project.',
      cause: error,
    })
  }
  return new EngineError('io_failed', `Docker: ${message}`, { hint: 'See the message, then try again.', cause: error })
}

/** For one that accepts questions and answers none. */
export function noAnswer(ms: number): Error {
  return Object.assign(new Error(`no answer within ${ms / 1000} seconds`), { code: 'ETIMEDOUT' })
}

export function unavailable(error: unknown): EngineError {
  if (isTlsError(error)) return untrusted(error)
  const isDenied = errorCode(error) === 'EACCES'
  return new EngineError('engine_unavailable', `Docker does not answer (${messageOf(error)}).`, {
    hint: isDenied
      ? 'Add the user of the server to the group "docker", or name another daemon with DOCKER_HOST.'
      : 'Start Docker, or name where it listens with DOCKER_HOST.',
    retryable: true,
    cause: error,
  })
}

/** Node's and OpenSSL's codes for errors of a certificate, or with the handshake that shows it. */
function isTlsError(error: unknown): boolean {
  const code = errorCode(error) ?? ''
  return /^ERR_(TLS|SSL|OSSL)_|^EPROTO$|CERT|SELF_SIGNED|UNABLE_TO_|^HOSTNAME_MISMATCH$/.test(code)
}

function untrusted(error: unknown): EngineError {
  return new EngineError('engine_unavailable', `No safe connection to Docker comes about (${messageOf(error)}).`, {
    hint: 'Check that ca.pem, cert.pem and key.pem in DOCKER_CERT_PATH belong to this Docker, and that its certificate names the host of DOCKER_HOST.',
    retryable: true,
    cause: error,
  })
}
