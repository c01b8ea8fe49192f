import type { Method, Problem } from '@stackquay/contract'
import { httpUrl, type QueryValue, queryString } from './address.ts'
import { ApiError, foreignProblem, notStackquay, unreachable } from './errors.ts'
import { pause } from './wait.ts'

export interface ClientOptions {
  /** `http://127.0.0.1:8700`, or empty for the page's own origin. */
  readonly baseUrl: string
  readonly token?: string
  /** In a browser: the session's key, asked for at every request. Streams then begin with a ticket. */
  readonly csrfToken?: () => string | null
  /** Where the audit log says a change came from. */
  readonly clientName?: 'ui' | 'cli' | 'mcp'
  /** A browser does not let it be set. */
  readonly userAgent?: string
  readonly fetch?: typeof globalThis.fetch
  readonly WebSocket?: typeof globalThis.WebSocket
  /** Called at every 401, before the error is thrown. */
  readonly onUnauthorized?: () => void
  /** How long a request that may be repeated is repeated while the service says it cannot answer now (503). Milliseconds; 5000 unless given. */
  readonly patience?: number
  /** How long a stream may take to open before it is tried again. Milliseconds; 30000 unless given. */
  readonly openWithin?: number
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** The ETag that must still hold. */
  readonly ifMatch?: string
  /** It must not be there yet. */
  readonly ifNoneMatch?: '*'
  /** Makes a POST safe to repeat: the service does it once and gives the same answer again. */
  readonly idempotencyKey?: string
}

export interface Request {
  readonly method: Method
  readonly path: string
  readonly query?: Readonly<Record<string, QueryValue>> | undefined
  readonly body?: unknown
  /** Instead of a body that is JSON: sent as it is, with its own media type, and read while it is sent. */
  readonly blob?: Blob
  /** The same for what comes piece by piece, and is sent once. Node alone takes it. */
  readonly stream?: { readonly bytes: AsyncIterable<Uint8Array>; readonly type: string }
  /** Statuses of 400 and more that are results all the same. */
  readonly answers?: readonly number[]
}

export interface Answer<Data> {
  readonly data: Data
  readonly status: number
  readonly etag: string | null
  readonly headers: Headers
}

/** Sends, repeats while that helps, and reads the answer. Throws `ApiError`, `ConnectionError` or the signal's reason. */
export async function request(
  client: ClientOptions,
  wanted: Request,
  options: CallOptions = {},
): Promise<Answer<unknown>> {
  const repeatable = wanted.method === 'GET' || options.idempotencyKey !== undefined
  const until = performance.now() + (client.patience ?? 5000)
  for (let delay = 200; ; delay *= 2) {
    try {
      return await read(client, wanted, await send(client, wanted, options), options)
    } catch (error) {
      if (!repeatable || !isStarting(error) || performance.now() + delay > until) throw error
      await pause(Math.min(delay, 2000), options.signal)
    }
  }
}

/** The bare answer, its body unread. Throws `ConnectionError` or the signal's reason. */
export async function send(client: ClientOptions, wanted: Request, options: CallOptions = {}): Promise<Response> {
  options.signal?.throwIfAborted()
  const url = httpUrl(client.baseUrl, wanted.path) + queryString(wanted.query)
  const fetch = client.fetch ?? globalThis.fetch
  try {
    return await fetch(url, {
      method: wanted.method,
      headers: headersOf(client, wanted, options),
      ...bodyOf(wanted),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
  } catch (error) {
    options.signal?.throwIfAborted()
    throw unreachable(shownUrl(client), error)
  }
}

/** Who is asking; also for a WebSocket's request, where the environment allows headers. */
export function identityHeaders(client: ClientOptions): Record<string, string> {
  return {
    ...(client.token === undefined ? {} : { authorization: `Bearer ${client.token}` }),
    ...(client.clientName === undefined ? {} : { 'x-stackquay-client': client.clientName }),
    ...(client.userAgent === undefined ? {} : { 'user-agent': client.userAgent }),
  }
}

/** Throws what a refusal says. */
export async function refuse(client: ClientOptions, response: Response): Promise<never> {
  const text = await response.text().catch(() => '')
  if (response.status === 401) client.onUnauthorized?.()
  const problem = problemIn(response, text)
  throw new ApiError(problem, response.headers)
}

async function read(
  client: ClientOptions,
  wanted: Request,
  response: Response,
  options: CallOptions,
): Promise<Answer<unknown>> {
  if (!response.ok && !isResult(wanted, response)) return refuse(client, response)
  return {
    data: await body(client, response, options),
    status: response.status,
    etag: response.headers.get('etag'),
    headers: response.headers,
  }
}

/** `GET /health` answers 503 with its result; the same status with a problem is the problem. */
function isResult(wanted: Request, response: Response): boolean {
  const type = response.headers.get('content-type') ?? ''
  return wanted.answers?.includes(response.status) === true && isJson(type) && !type.startsWith('application/problem')
}

async function body(client: ClientOptions, response: Response, options: CallOptions): Promise<unknown> {
  let text: string
  try {
    text = await response.text()
  } catch (error) {
    options.signal?.throwIfAborted()
    throw unreachable(shownUrl(client), error)
  }
  if (response.status === 204 || text === '') return undefined
  const type = response.headers.get('content-type') ?? ''
  if (!isJson(type))
    throw notStackquay(
      shownUrl(client),
      `it sent ${type === '' ? 'an answer without a type' : type} where JSON was expected`,
    )
  try {
    return JSON.parse(text)
  } catch {
    throw notStackquay(shownUrl(client), 'its JSON cannot be read')
  }
}

function headersOf(client: ClientOptions, wanted: Request, options: CallOptions): Record<string, string> {
  const csrfToken = client.csrfToken?.() ?? null
  return {
    accept: 'application/json',
    ...identityHeaders(client),
    ...(csrfToken === null ? {} : { 'x-csrf-token': csrfToken }),
    ...typeOf(wanted),
    ...(options.ifMatch === undefined ? {} : { 'if-match': options.ifMatch }),
    ...(options.ifNoneMatch === undefined ? {} : { 'if-none-match': options.ifNoneMatch }),
    ...(options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey }),
  }
}

function bodyOf({ body, blob, stream }: Request): RequestInit & { readonly duplex?: 'half' } {
  if (blob !== undefined) return { body: blob }
  if (stream !== undefined) return { body: stream.bytes as unknown as BodyInit, duplex: 'half' }
  return body === undefined ? {} : { body: JSON.stringify(body) }
}

function typeOf({ body, blob, stream }: Request): Record<string, string> {
  const type = blob?.type ?? stream?.type
  if (type !== undefined) return { 'content-type': type }
  return body === undefined ? {} : { 'content-type': 'application/json' }
}

function problemIn(response: Response, text: string): Problem {
  const type = response.headers.get('content-type')
  if (isJson(type ?? '')) {
    try {
      const parsed: unknown = JSON.parse(text)
      if (parsed !== null && typeof parsed === 'object' && 'code' in parsed && 'detail' in parsed) {
        return { ...(parsed as Problem), status: response.status }
      }
    } catch {
      // Reported below as what it is: an answer that cannot be read.
    }
  }
  return foreignProblem(response.status, response.statusText, type, text)
}

function isJson(contentType: string): boolean {
  return /^application\/(json|[\w.-]+\+json)\s*(;|$)/i.test(contentType)
}

/** Not every 503: `engine_unavailable` is an answer about Docker, and repeating it only makes a person wait. */
function isStarting(error: unknown): boolean {
  return error instanceof ApiError && error.status === 503 && error.problem.code === 'unavailable'
}

export function shownUrl(client: ClientOptions): string {
  return client.baseUrl === '' ? (globalThis.location?.origin ?? 'this address') : client.baseUrl
}
