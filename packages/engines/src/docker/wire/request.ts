import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Target } from './target.ts'

/*
 * Access to the connection itself, which a general client does not give: for streams of many megabytes and for programs' input and output.
 * Questions are asked by HTTP/1.0, so that answers come as they are and not in a chunk for each line; only what is taken
 * over for both directions is asked by HTTP/1.1, whose `Upgrade` says so. It loads next to nothing, which is what a process
 * for every command wants.
 */

export type Method = 'GET' | 'HEAD' | 'POST' | 'DELETE'

export interface Answer {
  readonly status: number
  /** Names in small letters. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** An answer of 400 and more, in the form that errors of Docker have everywhere here. */
export class RefusedRequest extends Error {
  readonly statusCode: number
  readonly json: { readonly message: string }

  constructor(question: string, { status, body }: Answer) {
    const message = saidIn(body)
    super(`${question}: ${status} ${message}`)
    this.statusCode = status
    this.json = { message }
  }
}

export interface RequestOptions {
  /** Sent as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** Asks and answers the JSON; null for an answer without a body. Throws `RefusedRequest`, or what the system says about the connection. */
export async function ask(
  target: Target,
  method: Method,
  path: string,
  options: RequestOptions = {},
): Promise<unknown> {
  const { body } = await send(target, method, path, options)
  return body.length === 0 ? null : JSON.parse(body.toString('utf8'))
}

/** The whole answer. */
export async function send(
  target: Target,
  method: Method,
  path: string,
  options: RequestOptions = {},
): Promise<Answer> {
  const { socket, status, headers } = await begin(target, method, path, options, false)
  const body = await rest(socket, options.signal)
  const length = headers.get('content-length')
  if (method !== 'HEAD' && length !== undefined && body.length < Number(length)) throw brokenOff()
  return { status, headers, body }
}

/** The answer's body as it comes, until the daemon closes the connection. The caller destroys it. */
export async function open(
  target: Target,
  method: Method,
  path: string,
  options: RequestOptions = {},
): Promise<Socket> {
  return (await begin(target, method, path, options, false)).socket
}

/** A connection that carries a program's input one way and its output the other. Ending it closes the input alone. */
export async function takeOver(target: Target, path: string, options: RequestOptions = {}): Promise<Socket> {
  return (await begin(target, 'POST', path, options, true)).socket
}

interface Begun {
  readonly socket: Socket
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
}

async function begin(
  target: Target,
  method: Method,
  path: string,
  { body, signal }: RequestOptions,
  upgrade: boolean,
): Promise<Begun> {
  signal?.throwIfAborted()
  const socket = dial(target)
  const abort = () => socket.destroy(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const text = body === undefined ? '' : JSON.stringify(body)
    socket.write(`${headOf(target, method, path, text, upgrade)}${text}`)
    const head = await readHead(socket)
    if (head.status < 400) return { socket, ...head }
    const length = Number(head.headers.get('content-length') ?? Number.NaN)
    const said = await rest(socket, signal, length)
    throw new RefusedRequest(`${method} ${path.split('?', 1)[0]}`, { ...head, body: said })
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

function dial({ place }: Target): Socket {
  if ('path' in place) return connectPlain({ path: place.path, allowHalfOpen: true })
  const { host, port, tls } = place
  // The end of one direction must not close the other: programs go on printing after their input.
  const options = { host, port, allowHalfOpen: true }
  // An address is no name to ask for (RFC 6066); its certificate is checked for it all the same.
  const servername = isIP(host) === 0 ? { servername: host } : {}
  const socket = tls === null ? connectPlain(options) : connectTls({ ...options, ...servername, ...tls })
  return socket.setNoDelay(true)
}

function headOf({ place, prefix }: Target, method: Method, path: string, text: string, upgrade: boolean): string {
  const host = 'path' in place ? 'docker' : `${place.host}:${place.port}`
  return [
    `${method} ${prefix}${path} HTTP/1.${upgrade ? 1 : 0}`,
    `Host: ${host}`,
    ...(text === '' && method !== 'POST' ? [] : [`Content-Length: ${Buffer.byteLength(text)}`]),
    ...(text === '' ? [] : ['Content-Type: application/json']),
    ...(upgrade ? ['Connection: Upgrade', 'Upgrade: tcp'] : []),
    '\r\n',
  ].join('\r\n')
}

const LONGEST_HEAD = 64 * 1024

/** The bytes behind the head stay in the socket. */
function readHead(socket: Socket): Promise<Pick<Answer, 'status' | 'headers'>> {
  return new Promise((resolve, reject) => {
    let seen: Buffer = Buffer.alloc(0)
    const done = () => {
      socket.off('readable', look).off('error', fail).off('end', broken).off('close', broken)
    }
    const fail = (error: Error) => {
      done()
      socket.on('error', () => {})
      reject(error)
    }
    const look = () => {
      for (let bytes = socket.read() as Buffer | null; bytes !== null; bytes = socket.read() as Buffer | null) {
        seen = seen.length === 0 ? bytes : Buffer.concat([seen, bytes])
        const end = seen.indexOf('\r\n\r\n')
        if (end < 0) {
          if (seen.length > LONGEST_HEAD) return fail(new Error('Docker answered with a head without an end.'))
          continue
        }
        done()
        if (seen.length > end + 4) socket.unshift(seen.subarray(end + 4))
        // A reader listens itself; until then a broken connection must not end the process.
        socket.on('error', () => {})
        return resolve(parseHead(seen.toString('latin1', 0, end)))
      }
    }
    const broken = () => fail(brokenOff())
    socket.on('readable', look).on('error', fail).on('end', broken).on('close', broken)
  })
}

function parseHead(text: string): Pick<Answer, 'status' | 'headers'> {
  const [first = '', ...lines] = text.split('\r\n')
  const status = Number(/^HTTP\/1\.\d (\d{3})/.exec(first)?.[1] ?? Number.NaN)
  if (Number.isNaN(status)) throw new Error('What answers there is no Docker.')
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  return { status, headers }
}

/** The rest of an answer, or so much of it. */
async function rest(socket: Socket, signal: AbortSignal | undefined, length = Number.NaN): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  const abort = () => socket.destroy(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    if (length === 0) return Buffer.alloc(0)
    for await (const bytes of socket) {
      parts.push(bytes as Buffer)
      size += (bytes as Buffer).length
      if (size >= length) break
    }
    return Buffer.concat(parts)
  } finally {
    signal?.removeEventListener('abort', abort)
    socket.destroy()
  }
}

function saidIn(body: Buffer): string {
  const text = body.toString('utf8').trim()
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    return typeof message === 'string' ? message.trim() : text
  } catch {
    return text
  }
}

function brokenOff(): Error {
  return Object.assign(new Error('Docker closed the connection.'), { code: 'ECONNRESET' })
}
