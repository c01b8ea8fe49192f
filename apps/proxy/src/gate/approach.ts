import type { IncomingMessage, ServerResponse } from 'node:http'
import { answer, documentOf, errorHeaders } from '../answer.ts'
import { linger } from '../linger.ts'
import type { RequestContext } from '../request-context.ts'
import type { ProxyState } from '../state.ts'
import { readForm } from './form.ts'
import { type Decision, type Gate, isChanged, type RequestChanges, type ResponseChanges } from './gate.ts'
import { hostOnlyCookie } from './host-only.ts'
import type { GateAnswer, Visit } from './rule.ts'

/** Checks a request by the rules of its route. */
export function checkRequest(
  { redeem }: Pick<ProxyState, 'redeem'>,
  gate: Gate,
  request: IncomingMessage,
  { client, host, path }: RequestContext,
  isUpgrade: boolean,
): Decision | Promise<Decision> {
  const visit: Visit = {
    client: client.address,
    proto: client.proto,
    host,
    path,
    method: request.method ?? 'GET',
    headers: request.headers,
    form: () => (isUpgrade ? Promise.resolve(null) : readForm(request)),
    isUpgrade,
    redeem,
    now: Date.now(),
  }
  return gate.check(visit)
}

/** The headers that go on to the project, after the rules. */
export function changedRequest(headers: string[], changes: RequestChanges): string[] {
  const { withoutAuthorization, withoutCookies } = changes
  const kept: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!
    const value = headers[index + 1]!
    const lower = name.toLowerCase()
    if (isChanged(changes, name) || (lower === 'authorization' && withoutAuthorization)) continue
    if (lower !== 'cookie' || withoutCookies.length === 0) {
      kept.push(name, value)
      continue
    }
    const cookies = value.split(';').filter((part) => !withoutCookies.includes(part.split('=', 1)[0]!.trim()))
    if (cookies.length > 0) kept.push(name, cookies.join(';').trim())
  }
  kept.push(...changes.pairs)
  return kept
}

/** The headers of the project's answer, after the rules. */
export function changedResponse(headers: readonly string[], changes: ResponseChanges): string[] {
  const kept: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!
    if (isChanged(changes, name)) continue
    const value = headers[index + 1]!
    const kind = changes.foreignCookies === null || name.toLowerCase() !== 'set-cookie' ? 'other' : 'cookie'
    const shown = kind === 'other' ? value : hostOnlyCookie(value, changes.foreignCookies!)
    if (shown !== null) kept.push(name, shown)
  }
  kept.push(...changes.pairs)
  if (changes.vary !== null && !changes.names.includes('vary')) kept.push('vary', changes.vary)
  return kept
}

/** Sends the answer of a rule. */
export function sendRefusal(
  state: ProxyState,
  request: IncomingMessage,
  response: ServerResponse,
  { headers, error, status }: GateAnswer,
  path: string,
): void {
  const isStillSending = !request.complete
  if (error === null) {
    // RFC 9110, 8.6: no length with 204.
    response.writeHead(status, [...headers.flat(), ...(status === 204 ? [] : ['content-length', '0'])])
    response.end()
  } else {
    for (const [name, value] of headers) response.setHeader(name, value)
    // The page of a form leads back to where the person wanted to go.
    const shown = error.form === undefined ? error : { ...error, form: { next: path, ...error.form } }
    void answer(request, response, shown)
  }
  if (isStillSending) linger(request, state.limits.linger)
}

/** The same for a refused upgrade, as the bytes of a whole answer. */
export async function rawRefusal(accept: string | undefined, { headers, error, status }: GateAnswer): Promise<string> {
  const document = error === null ? null : await documentOf(error, accept)
  const all: (readonly [string, string | number])[] = [
    ...headers,
    ...Object.entries(document?.headers ?? { 'content-length': 0 }),
    ...Object.entries(error === null ? {} : errorHeaders(error)),
    ['connection', 'close'],
  ]
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${error?.title ?? 'Refused'}\r\n${lines.join('')}\r\n${document?.text ?? ''}`
}
