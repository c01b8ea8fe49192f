import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorResponse } from './error-responses.ts'

/**
 * Sends an error response as the kind of document the client asked for: a page for a browser, a problem for a program. Answers how
 * many bytes it has.
 */
export async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  error: ErrorResponse,
): Promise<number> {
  const body = await documentOf(error, request.headers.accept)
  if (response.headersSent || response.destroyed) return 0
  response.writeHead(error.status, { ...body.headers, ...errorHeaders(error) })
  response.end(body.text)
  return body.headers['content-length']
}

/** The same for a connection that has no response object: a refused upgrade, or bytes that are no request. */
export async function rawAnswer(accept: string | undefined, error: ErrorResponse): Promise<string> {
  const { headers, text } = await documentOf(error, accept)
  const all = { ...headers, ...errorHeaders(error), connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${reasons[error.status] ?? 'Error'}\r\n${lines.join('')}\r\n${text}`
}

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  408: 'Request Timeout',
  410: 'Gone',
  421: 'Misdirected Request',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

export function errorHeaders(error: ErrorResponse): Record<string, string | number> {
  return {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    // Marks the proxy's own answers.
    'x-stackquay-notice': error.code,
    ...(error.retryAfter !== undefined && { 'retry-after': error.retryAfter }),
  }
}

export async function documentOf(error: ErrorResponse, accept: string | undefined) {
  if (prefersJson(accept)) {
    const text = problemOf(error)
    return { text, headers: { 'content-type': 'application/problem+json', 'content-length': Buffer.byteLength(text) } }
  }
  // Loaded with the first page: a proxy whose projects all run never needs it.
  const { renderPage, pagePolicy } = await import('./pages.ts')
  const text = renderPage(error)
  return {
    text,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-length': Buffer.byteLength(text),
      'content-security-policy': pagePolicy,
      vary: 'accept',
    },
  }
}

function problemOf({ status, code, title, detail, hint, retryAfter, project, logTail }: ErrorResponse): string {
  return JSON.stringify({
    type: `urn:stackquay:problem:${code}`,
    title,
    status,
    detail,
    code,
    hint,
    retryable: retryAfter !== undefined,
    ...(project?.slug && { project: { id: project.id, slug: project.slug } }),
    ...(logTail && { logTail }),
  })
}

/** True when some kind of JSON is asked for and wanted more than HTML. `*` alone prefers nothing. */
export function prefersJson(accept: string | undefined): boolean {
  if (!accept) return false
  let json = 0
  let html = 0
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const q = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1)
    if (type === 'application/json' || type.endsWith('+json')) json = Math.max(json, q)
    if (type === 'text/html' || type === 'application/xhtml+xml') html = Math.max(html, q)
  }
  return json > html
}
