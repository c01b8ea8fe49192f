import { Agent, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import { pipeline } from 'node:stream'

const agent = new Agent({ keepAlive: true })

/** Headers between two neighbours (RFC 9110, section 7.6.1), and the password, which the server has no use for. */
const ownHeaders = [
  'authorization',
  'connection',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]

/** Without these a body would have no end, and what stands in it be taken for the next request: no client may name them away. */
const framing = ['content-length', 'transfer-encoding', 'host']

/** Passes a request on and its answer back, both as they come: neither is ever held as a whole. */
export function forward(request: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url: path } = request
  const headers = passedOn(request.headers)
  const onward = send({ host: '127.0.0.1', port, method, path, headers, agent }, (answer) => {
    const { 'transfer-encoding': _, ...rest } = passedOn(answer.headers)
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, rest)
    pipeline(answer, response, () => {})
  })
  onward.on('error', (error) => {
    // It may have answered before it had read everything, and closed.
    if (response.headersSent) return
    refuse(response, 502, `The server could not answer: ${error.message}.`)
  })
  // A client that goes away ends its search, too.
  response.on('close', () => {
    if (!response.writableFinished) onward.destroy()
  })
  // Not `pipeline`: when the server closes early, its answer is still to be passed back to the client.
  request.pipe(onward)
}

/** In the form in which OpenSearch says that something is wrong, so that clients show the text. */
export function refuse(response: ServerResponse, status: number, reason: string, headers: object = {}): void {
  const type = status === 401 ? 'security_exception' : 'unavailable_exception'
  const body = JSON.stringify({ error: { root_cause: [{ type, reason }], type, reason }, status })
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=UTF-8',
    'Content-Length': Buffer.byteLength(body),
    // What the client still sends is not read.
    Connection: 'close',
    ...headers,
  })
  response.end(body)
}

/** `transfer-encoding` stays on requests: a GET with a body of unknown length needs it said. */
function passedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').toLowerCase().split(/ *, */)
  const goes = (name: string) => ownHeaders.includes(name) || (named.includes(name) && !framing.includes(name))
  const left = Object.entries(headers).filter(([name]) => !goes(name))
  return Object.fromEntries(left)
}
