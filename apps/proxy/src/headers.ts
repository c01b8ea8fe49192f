import type { IncomingMessage } from 'node:http'
import type { ClientAddress } from './client-address.ts'
import type { BodyFraming } from './upstream/request-head.ts'

/** What a request's headers say, read once from the raw list, and the list that goes on to the project. */
export interface RequestHead {
  /** The name the client asked for; undefined when it named none, or several. */
  readonly authority: string | undefined
  /** What delimits the body that follows; null when there is none. */
  readonly body: BodyFraming
  /** The body, if any, is sent only when it is asked for. */
  readonly expects: boolean
  /** Flat list of names and values, without `Host` and without what delimits the body. */
  readonly headers: string[]
}

/**
 * Hop-by-hop headers go (RFC 9110, 7.6.1), with those that `Connection` names. What a client says about where it comes
 * from is not believed: its `Forwarded`, `X-Forwarded-*` and `X-Real-IP` are replaced by what is seen here.
 */
export function readRequestHead(request: IncomingMessage): RequestHead {
  const raw = request.rawHeaders
  const headers: string[] = []
  let authority: string | undefined
  let hosts = 0
  let body: BodyFraming = null
  let expects = false
  let named: Set<string> | undefined

  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!
    const value = raw[index + 1]!
    switch (roleOf(name)) {
      case 'pass':
        headers.push(name, value)
        break
      case 'host':
        authority = value
        hosts += 1
        break
      case 'length':
        // Zero too: it is what a POST without a body says.
        body = { length: value }
        break
      case 'encoding':
        body = 'chunked'
        break
      case 'expect':
        expects = true
        break
      case 'connection':
        named = addNamed(named, value)
        break
      case 'drop':
    }
  }

  return {
    authority: hosts === 1 ? authority : undefined,
    body,
    expects,
    headers: named ? without(headers, named) : headers,
  }
}

/** Adds where the request came from. `Host` itself reaches the project unchanged: development servers check it. */
export function addForwarded(
  headers: string[],
  port: string,
  authority: string,
  { forwardedFor, proto }: ClientAddress,
): void {
  headers.push(
    'x-forwarded-for',
    forwardedFor,
    'x-forwarded-proto',
    proto,
    'x-forwarded-host',
    authority,
    'x-forwarded-port',
    port,
  )
}

/** The headers of a project's answer that reach the client, as a flat list. */
export function responseHeaders(raw: readonly string[], status: number): string[] {
  const headers: string[] = []
  let named: Set<string> | undefined

  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!
    const value = raw[index + 1]!
    switch (roleOf(name)) {
      case 'connection':
        named = addNamed(named, value)
        break
      case 'encoding':
      case 'expect':
        break
      case 'length':
        // RFC 9110, 8.6: never with 204.
        if (status !== 204) headers.push(name, value)
        break
      case 'drop':
        if (!answerMayCarry.has(name.toLowerCase())) break
        headers.push(name, value)
        break
      default:
        headers.push(name, value)
    }
  }
  return named ? without(headers, named) : headers
}

type Role = 'pass' | 'drop' | 'host' | 'length' | 'encoding' | 'connection' | 'expect'

const roles = new Map<string, Role>([
  ['host', 'host'],
  ['content-length', 'length'],
  ['transfer-encoding', 'encoding'],
  ['connection', 'connection'],
  // Answered here, where the body is read.
  ['expect', 'expect'],
  ...[
    'keep-alive',
    'proxy-connection',
    'proxy-authenticate',
    'proxy-authorization',
    'te',
    'upgrade',
    // Trailers of a request are not passed on, so they are not announced either.
    'trailer',
    'http2-settings',
    'forwarded',
    'x-real-ip',
    'x-forwarded-for',
    'x-forwarded-proto',
    'x-forwarded-host',
    'x-forwarded-port',
    'x-forwarded-server',
    'x-forwarded-prefix',
    'x-forwarded-ssl',
  ].map((name): [string, Role] => [name, 'drop']),
])

/** These are removed from requests alone: in an answer they are the program's own business. */
const answerMayCarry = new Set([
  'proxy-authenticate',
  'trailer',
  'forwarded',
  ...[...roles.keys()].filter((name) => name.startsWith('x-')),
])

/** Browsers spell few names in few ways, so spellings are remembered; bounded, because a client can invent more. */
const remembered = new Map<string, Role>()

function roleOf(name: string): Role {
  const known = remembered.get(name)
  if (known !== undefined) return known
  const role = roles.get(name.toLowerCase()) ?? (looksLikeAnother(name) ? 'drop' : 'pass')
  if (remembered.size < 2_000) remembered.set(name, role)
  return role
}

/** `Content_Length`, `X_Forwarded_For`: what a CGI or WSGI program would take for the real one. */
function looksLikeAnother(name: string): boolean {
  return name.includes('_') && roles.has(name.toLowerCase().replaceAll('_', '-'))
}

function addNamed(named: Set<string> | undefined, connection: string): Set<string> | undefined {
  // By far the most common values name nothing.
  if (connection === 'keep-alive' || connection === 'close') return named
  const all = named ?? new Set<string>()
  for (const token of connection.split(',')) all.add(token.trim().toLowerCase())
  return all
}

function without(headers: readonly string[], named: ReadonlySet<string>): string[] {
  const kept: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!
    if (!named.has(name.toLowerCase())) kept.push(name, headers[index + 1]!)
  }
  return kept
}
