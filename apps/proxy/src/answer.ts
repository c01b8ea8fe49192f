import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Notice } from './notices.ts'

/**
 * Sends a notice as the kind of document the client asked for: a page for a browser, a problem for a program. Answers how
 * many bytes it has.
 */
export async function answer(request: IncomingMessage, response: ServerResponse, notice: Notice): Promise<number> {
  const body = await documentOf(notice, request.headers.accept)
  if (response.headersSent || response.destroyed) return 0
  response.writeHead(notice.status, { ...body.headers, ...noticeHeaders(notice) })
  response.end(body.text)
  return body.headers['content-length']
}

/** The same for a connection that has no response object: a refused upgrade, or bytes that are no request. */
export async function rawAnswer(accept: string | undefined, notice: Notice): Promise<string> {
  const { headers, text } = await documentOf(notice, accept)
  const all = { ...headers, ...noticeHeaders(notice), connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${notice.status} ${reasons[notice.status] ?? 'Error'}\r\n${lines.join('')}\r\n${text}`
}

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  408: 'Request Timeout',
  410: 'Gone',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

export function noticeHeaders(notice: Notice): Record<string, string | number> {
  return {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    // Tells the proxy's own words from a project's.
    'x-stackquay-notice': notice.code,
    ...(notice.retryAfter !== undefined && { 'retry-after': notice.retryAfter }),
  }
}

export async function documentOf(notice: Notice, accept: string | undefined) {
  if (prefersJson(accept)) {
    const text = problemOf(notice)
    return { text, headers: { 'content-type': 'application/problem+json', 'content-length': Buffer.byteLength(text) } }
  }
  // Loaded with the first page: a proxy whose projects all run never needs it.
  const { renderPage, pagePolicy } = await import('./pages.ts')
  const text = renderPage(notice)
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

function problemOf({ status, code, title, detail, hint, retryAfter, project, logTail }: Notice): string {
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
