import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Address, addressOf, splitOnce } from './address.ts'
import { type Credentials, createAuthenticate } from './authenticate.ts'
import { backupOperation, requireSecret } from './copy-data.ts'
import { answerPreflight, corsHeaders } from './cors.ts'
import { isFull, S3Error } from './errors.ts'
import type { Answer, Exchange, Owner } from './exchange.ts'
import { findBucket } from './objects.ts'
import { operationOf } from './operations.ts'
import { readObject } from './read-object.ts'
import type { Store } from './store.ts'
import { overrides } from './stored-headers.ts'
import { element, xmlDocument } from './xml.ts'

/** In the path of no bucket; with a bucket in front of the host it is a key like any other. */
export const healthPath = '/-/health'

export function createStorageServer(store: Store, credentials: Credentials): Server {
  const authenticate = createAuthenticate(credentials)
  const server = createServer({
    // A client that reuses a connection must not find it closed by a server that waited less than itself.
    keepAliveTimeout: 75_000,
    // Five gigabytes over a slow line take what they take; a client that says nothing for long is cut off by `timeout`.
    requestTimeout: 0,
    // Zero too unless told, as `requestTimeout` is: whoever sends a byte of a header now and then would stay for ever.
    headersTimeout: 60_000,
    highWaterMark: 256 * 1024,
  })
  server.timeout = 300_000
  const take = (waits: boolean) => (incoming: IncomingMessage, response: ServerResponse) => {
    serve(incoming, response, waits).catch((error: Error) => {
      // The client went away, or its answer was cut short and it must see that.
      if (!isGone(error)) report(incoming, `failed while it was answered: ${error.stack}`)
      response.destroy()
    })
  }
  // Without a listener of its own, Node would send 100 Continue before anybody looked at the signature.
  server.on('request', take(false)).on('checkContinue', take(true))
  return server

  async function serve(incoming: IncomingMessage, response: ServerResponse, waits: boolean): Promise<void> {
    const id = randomBytes(8).toString('hex').toUpperCase()
    response.setHeader('x-amz-request-id', id)
    for (const [name, value] of Object.entries(corsHeaders(incoming))) response.setHeader(name, value)
    let waiting = waits
    const goOn = () => {
      if (waiting) response.writeContinue()
      waiting = false
    }
    const answer = await answerTo(incoming, goOn).catch((error) => errorAnswer(error, incoming, id))
    // Who was not told to go on may or may not send its body: the connection cannot be used again.
    try {
      const whole = !waiting && (await readLeftovers(incoming))
      if (!whole || !server.listening) response.setHeader('Connection', 'close')
      await send(answer, incoming, response)
    } finally {
      if (typeof answer.body === 'object') answer.body.release()
    }
  }

  async function answerTo(incoming: IncomingMessage, goOn: () => void): Promise<Answer> {
    if (incoming.method === 'OPTIONS') return answerPreflight(incoming)
    const address = addressOf(incoming)
    const own = await answerOwn(incoming, address, store, credentials)
    if (own !== null) return own
    const caller = authenticate(incoming, address, Date.now())
    if (caller.kind === 'anonymous') return answerAnybody(incoming, address)
    const exchange: Exchange = {
      incoming,
      address,
      owner: caller,
      store,
      header: headerOf(incoming, address, caller),
      goOn,
    }
    return operationOf(incoming.method ?? 'GET', address)(exchange)
  }

  /** Without a signature: objects of a public bucket, and nothing else; not even which there are. */
  function answerAnybody(incoming: IncomingMessage, address: Address): Answer {
    const reads =
      (incoming.method === 'GET' || incoming.method === 'HEAD') && address.bucket !== null && address.key !== null
    if (!reads || !findBucket(store, address.bucket)?.publicRead) throw new S3Error('AccessDenied')
    if (Object.keys(overrides({ address })).length > 0) {
      throw new S3Error('InvalidRequest', 'Only a signed request can choose the headers of its answer.')
    }
    // Throws for what is more than reading the object.
    if (operationOf(incoming.method ?? 'GET', address) !== readObject) throw new S3Error('AccessDenied')
    try {
      return readObject({ incoming, store, address, header: headerOf(incoming, address, null) })
    } catch (error) {
      if (error instanceof S3Error && error.code === 'NoSuchKey') throw new S3Error('AccessDenied')
      throw error
    }
  }
}

/** To questions about the storage itself; null when it is asked something else. */
async function answerOwn(
  incoming: IncomingMessage,
  { bucket }: Address,
  store: Store,
  { secretKey }: Credentials,
): Promise<Answer | null> {
  const { method, url } = incoming
  // "-" can be no bucket's name, so this one was read from the path.
  if ((method !== 'GET' && method !== 'HEAD') || bucket !== '-') return null
  const path = splitOnce(url ?? '', '?')[0]
  if (path === healthPath) return { status: 200, body: 'ok\n' }
  const operation = backupOperation(path)
  if (operation === null) return null
  requireSecret(incoming, secretKey)
  return operation(store)
}

/** What an SDK would send as a header it puts into the query of a pre-signed URL, where the signature covers it too. */
function headerOf(incoming: IncomingMessage, address: Address, owner: Owner | null): Exchange['header'] {
  const inQuery = owner?.signedBy === 'query'
  return (name) => {
    const value = incoming.headers[name]
    if (typeof value === 'string') return value
    if (!inQuery || !name.startsWith('x-amz-')) return undefined
    return address.query.entries.find(([candidate]) => candidate.toLowerCase() === name)?.[1]
  }
}

async function send(
  { status, headers, body }: Answer,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const isEmpty = body === undefined && status !== 204 && status !== 304 && incoming.method !== 'HEAD'
  const length = typeof body === 'string' ? Buffer.byteLength(body) : isEmpty ? 0 : null
  response.writeHead(status, { ...(length === null ? {} : { 'Content-Length': length }), ...headers })
  if (typeof body === 'object' && incoming.method !== 'HEAD') {
    await pipeline(Readable.from(body.chunks(), { objectMode: false }), response)
  } else response.end(typeof body === 'string' && incoming.method !== 'HEAD' ? body : undefined)
}

function errorAnswer(error: unknown, incoming: IncomingMessage, id: string): Answer {
  if (isGone(error as Error)) throw error
  const known =
    error instanceof S3Error
      ? error
      : new S3Error(isFull(error) || isFull((error as Error).cause) ? 'StorageFull' : 'InternalError')
  if (known.code === 'InternalError') report(incoming, `failed: ${(error as Error).stack}`)
  else if (![304, 404, 412, 416].includes(known.status)) report(incoming, `${known.code}: ${known.message}`)
  const body = xmlDocument(
    'Error',
    element('Code', known.code),
    element('Message', known.message),
    element('Resource', splitOnce(incoming.url ?? '/', '?')[0]),
    element('RequestId', id),
  ).replace(' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"', '')
  return { status: known.status, headers: { 'Content-Type': 'application/xml', ...known.headers }, body }
}

/** Without the query: it may hold a signature that is still good. */
function report(incoming: IncomingMessage, text: string): void {
  const path = splitOnce(incoming.url ?? '', '?')[0].slice(0, 300)
  console.error(`${incoming.method} ${path} ${text}`)
}

/**
 * The rest of a body that was refused. Many clients read no answer before they have sent all; one that is cut off instead would
 * see a broken connection and try again. But this is done only for so long, and not for gigabytes. Answers whether it ended.
 */
async function readLeftovers(incoming: IncomingMessage): Promise<boolean> {
  const deadline = setTimeout(() => incoming.destroy(), 10_000)
  try {
    let left = 64 * 1024 * 1024
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      left -= (chunk as Buffer).length
      if (left < 0) return false
    }
    return true
  } finally {
    clearTimeout(deadline)
  }
}

function isGone(error: Error & { code?: string }): boolean {
  return error.code === 'ECONNRESET' || error.code === 'ERR_STREAM_PREMATURE_CLOSE' || error.code === 'EPIPE'
}
