import type { Problem, ProblemCode } from '@stackquay/contract'

/** The service answered, and the answer is a problem. */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'
  readonly problem: Problem
  readonly status: number
  readonly headers: Headers

  constructor(problem: Problem, headers: Headers = new Headers(), options?: { cause?: unknown }) {
    super(problem.detail, options)
    this.problem = problem
    this.status = problem.status
    this.headers = headers
  }
}

/**
 * Nothing that could be Stackquay answered: refused, lost, or another program is at the address. It carries a problem
 * of status 0, so that a page shows it as it shows any other.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly url: string
  readonly problem: Problem
  readonly status = 0

  constructor(url: string, reason: { detail: string; hint: string }, options?: { cause?: unknown }) {
    super(`${reason.detail} ${reason.hint}`, options)
    this.url = url
    this.problem = problemFor(0, 'unavailable', { title: 'The service does not answer', ...reason, retryable: true })
  }
}

export function unreachable(url: string, cause: unknown): ConnectionError {
  const why = reasonOf(cause)
  const detail = `Stackquay does not answer at ${url}${why === null ? '' : ` (${why})`}.`
  return new ConnectionError(url, { detail, hint: 'Is it running? Start it with: npm start' }, { cause })
}

export function notStackquay(url: string, what: string): ConnectionError {
  return new ConnectionError(url, {
    detail: `What answers at ${url} is not Stackquay: ${what}.`,
    hint: 'Check the URL.',
  })
}

/** A refusal by something between us and the service, which does not speak problem details. */
export function foreignProblem(status: number, statusText: string, contentType: string | null, text: string): Problem {
  const excerpt = text
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 200)
  return problemFor(status, codeFor(status), {
    title: `The answer was ${status}${statusText === '' ? '' : ` ${statusText}`}`,
    detail: excerpt === '' ? `An answer with status ${status} and no explanation.` : excerpt,
    hint: `It came as ${contentType ?? 'an unknown type'} and not as JSON: check the URL, and any reverse proxy in front of the service.`,
    retryable: status >= 502 && status <= 504,
  })
}

/** Whether asking again, unchanged, will be refused again. */
export function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429
}

function problemFor(
  status: number,
  code: ProblemCode,
  rest: { title: string; detail: string; hint: string; retryable: boolean },
): Problem {
  return { type: 'about:blank', status, code, ...rest }
}

function codeFor(status: number): ProblemCode {
  const known: Readonly<Record<number, ProblemCode>> = {
    401: 'unauthorized',
    404: 'not_found',
    405: 'method_not_allowed',
    413: 'too_large',
    429: 'throttled',
    431: 'headers_too_large',
  }
  return (
    known[status] ??
    (status < 500 ? 'invalid_request' : status >= 502 && status <= 504 ? 'unavailable' : 'internal_error')
  )
}

function reasonOf(cause: unknown): string | null {
  const inner = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause
  if (inner === null || typeof inner !== 'object') return null
  if ('code' in inner && typeof inner.code === 'string') return inner.code
  return null
}
