import { createReadStream } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { InboxMessage, InboxPage, InboxRefusal, InboxSummary } from '../inbox.ts'
import { contentsOf, sendCopy } from './backup.ts'
import { type Place, refusal } from './guard.ts'
import { inboxLimits } from './inbox-terms.ts'
import { strangers } from './message-index.ts'
import { page, pageFiles } from './page.ts'
import type { Reader } from './reader.ts'
import type { MailStore, StoredMail } from './store.ts'

export interface WebOptions extends Place {
  readonly store: MailStore
  readonly reader: Reader
}

interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly query: URLSearchParams
  /** What the path's pattern caught. */
  readonly found: readonly string[]
  readonly options: WebOptions
}

interface Route {
  readonly path: RegExp
  readonly about: 'page' | 'data'
  readonly methods: Readonly<Record<string, (call: Call) => Promise<void> | void>>
}

const id = '([0-9a-f]{32})'
const routes: readonly Route[] = [
  { path: /^\/$/, about: 'page', methods: { GET: ({ response }) => send(response, 200, page) } },
  { path: /^\/(page\.(?:js|css))$/, about: 'data', methods: { GET: sendPageFile } },
  { path: new RegExp(`^/messages/${id}/html$`), about: 'data', methods: { GET: sendHtml } },
  { path: /^\/api\/messages$/, about: 'data', methods: { GET: list, DELETE: removeAll } },
  { path: new RegExp(`^/api/messages/${id}$`), about: 'data', methods: { GET: show, PATCH: mark, DELETE: remove } },
  { path: new RegExp(`^/api/messages/${id}/source$`), about: 'data', methods: { GET: sendSource } },
  { path: new RegExp(`^/api/messages/${id}/attachments/(\\d{1,6})$`), about: 'data', methods: { GET: sendAttachment } },
  {
    path: /^\/-\/copy$/,
    about: 'data',
    methods: { GET: ({ response, options }) => sendCopy(options.store, response) },
  },
  { path: /^\/-\/contents$/, about: 'data', methods: { GET: sendContents } },
]

export async function openWeb(options: WebOptions): Promise<{ close(): Promise<void> }> {
  const server = createServer({ requestTimeout: 30_000 }, (request, response) => {
    answer(request, response, options).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_STREAM_PREMATURE_CLOSE') return
      console.error(`${request.method} ${request.url?.slice(0, 200)} failed: ${error.message}`)
      if (response.headersSent) response.destroy()
      else if (error.code === 'ENOENT') refuse(response, 404, 'not_found', 'The message is gone.')
      else refuse(response, 500, 'internal', 'The inbox could not answer; its log says why.')
    })
  })
  // A client that asks for a message and does not read it would hold its file open.
  server.timeout = 300_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        setTimeout(() => server.closeAllConnections(), 2_000).unref()
      }),
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, options: WebOptions): Promise<void> {
  const headers = {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  const [path = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s)
  if (path === '/-/health') {
    // Reading the index proves that what it stands on is there.
    options.store.list({ limit: 1, before: null, words: '' })
    return send(response, 200, { type: 'text/plain; charset=utf-8', content: 'ok\n' })
  }
  const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '')
  for (const route of routes) {
    const found = route.path.exec(path)
    if (found === null) continue
    const refused = refusal(request, options, method === 'GET' ? route.about : 'change')
    if (refused !== null) return refuse(response, refused.status, refused.code, refused.message)
    const handler = Object.hasOwn(route.methods, method) ? route.methods[method] : undefined
    if (handler === undefined) {
      response.setHeader('Allow', Object.keys(route.methods).join(', '))
      return refuse(response, 405, 'method_not_allowed', `${method} is not answered here.`)
    }
    await handler({ request, response, query: new URLSearchParams(query), found: found.slice(1), options })
    return
  }
  refuse(response, 404, 'not_found', 'There is nothing under this address.')
}

function list({ response, query, options }: Call): void {
  const { usual, most } = inboxLimits.pageSize
  const limit = query.get('limit') ?? String(usual)
  const cursor = query.get('cursor')
  const words = query.get('q') ?? ''
  const before = cursor === null ? null : Number(cursor)
  if (!/^[1-9]\d{0,8}$/.test(limit)) invalid(response, '"limit" is not a whole number above 0.')
  else if (cursor !== null && !/^\d{1,15}$/.test(cursor)) invalid(response, '"cursor" is none that this inbox gave.')
  else if (words.length > inboxLimits.searchCharacters) invalid(response, '"q" is too long.')
  else sendJson(response, options.store.list({ limit: Math.min(Number(limit), most), before, words }))
}

async function show(call: Call): Promise<void> {
  const stored = stored404(call)
  if (stored !== null) sendJson(call.response, await messageOf(stored, call.options.reader))
}

async function messageOf({ summary, envelope, path }: StoredMail, reader: Reader): Promise<InboxMessage> {
  const { cc, replyTo, to, headers, text, html, truncated, attachments, problem } = await reader.mail(path)
  const named = new Set([...to, ...cc].map(({ address }) => address.toLowerCase()))
  return {
    ...summary,
    to: to.length === 0 ? strangers(envelope.to) : [...to],
    ...{ cc: [...cc], replyTo: [...replyTo], headers: [...headers], attachments: [...attachments] },
    ...{ text, html, truncated, problem },
    // Without a To header the summary shows the envelope's recipients, and nobody was hidden from anybody.
    bcc:
      to.length === 0 && cc.length === 0
        ? []
        : strangers(envelope.to.filter((address) => !named.has(address.toLowerCase()))),
    envelope: { from: envelope.from, to: [...envelope.to] },
  }
}

async function mark(call: Call): Promise<void> {
  const change = await bodyOf(call.request)
  if (typeof change !== 'object' || change === null || Object.keys(change).join() !== 'read') {
    return invalid(call.response, 'The body must be {"read": true} or {"read": false}.')
  }
  const { read } = change as { read: unknown }
  if (typeof read !== 'boolean') return invalid(call.response, '"read" must be true or false.')
  const summary = call.options.store.mark(call.found[0] ?? '', read)
  if (summary === null) return gone(call.response)
  sendJson(call.response, summary)
}

async function remove({ response, options, found }: Call): Promise<void> {
  if (!(await options.store.remove(found[0] ?? ''))) return gone(response)
  response.writeHead(204).end()
}

async function removeAll({ response, options }: Call): Promise<void> {
  await options.store.removeAll()
  response.writeHead(204).end()
}

async function sendSource(call: Call): Promise<void> {
  const stored = stored404(call)
  if (stored === null) return
  const source = createReadStream(stored.path)
  // The headers go out with the first byte, so a file that was deleted just now still answers 404.
  await new Promise((resolve, reject) => source.once('open', resolve).once('error', reject))
  call.response.writeHead(200, {
    'Content-Type': 'message/rfc822',
    'Content-Length': stored.summary.sizeBytes,
    'Content-Disposition': `attachment; filename="${stored.summary.id}.eml"`,
  })
  if (call.request.method === 'HEAD') {
    source.destroy()
    call.response.end()
    return
  }
  await pipeline(source, call.response)
}

async function sendAttachment(call: Call): Promise<void> {
  const stored = stored404(call)
  if (stored === null) return
  const attachment = await call.options.reader.attachment(stored.path, Number(call.found[1]))
  if (attachment === null) return gone(call.response)
  const name = attachment.fileName ?? `attachment-${call.found[1]}`
  call.response.writeHead(200, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': attachment.content.length,
    'Content-Disposition': `attachment; filename="${asciiName(name)}"; filename*=UTF-8''${encodedName(name)}`,
  })
  call.response.end(attachment.content)
}

async function sendContents({ response, options }: Call): Promise<void> {
  send(response, 200, { type: 'application/json; charset=utf-8', content: await contentsOf(options.store) })
}

function asciiName(name: string): string {
  return name.replace(/[^\w .()+,=@-]/g, '_')
}

/** RFC 8187: what encodeURIComponent leaves and the header does not allow is encoded too. */
function encodedName(name: string): string {
  const encode = (letter: string) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, encode)
}

/** The HTML of a message as a document of its own, which runs nothing, sends nothing, and loads nothing unless it was asked for. */
async function sendHtml(call: Call): Promise<void> {
  const stored = stored404(call)
  if (stored === null) return
  const { html } = await call.options.reader.mail(stored.path)
  if (html === null) return gone(call.response)
  const remote = call.query.get('remote') === '1' ? ' http: https:' : ''
  call.response.setHeader(
    'Content-Security-Policy',
    [
      "default-src 'none'",
      `img-src data:${remote}`,
      `media-src data:${remote}`,
      `font-src data:${remote}`,
      `style-src 'unsafe-inline'${remote}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'self'",
      'sandbox allow-popups allow-popups-to-escape-sandbox',
    ].join('; '),
  )
  // Links open beside it, without a way back to this window: `_blank` implies noopener.
  send(call.response, 200, {
    type: 'text/html; charset=utf-8',
    content: `<!doctype html><base target="_blank">\n${html}`,
  })
}

function sendPageFile({ response, found }: Call): void {
  send(response, 200, pageFiles(found[0] === 'page.css' ? 'page.css' : 'page.js'))
}

function stored404({ response, options, found }: Call): StoredMail | null {
  const stored = options.store.find(found[0] ?? '')
  if (stored === null) gone(response)
  return stored
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > 1_000) return null
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return null
  }
}

function gone(response: ServerResponse): void {
  refuse(response, 404, 'not_found', 'There is no such message: it was deleted, or dropped because the inbox was full.')
}

function invalid(response: ServerResponse, message: string): void {
  refuse(response, 400, 'invalid_request', message)
}

function refuse(response: ServerResponse, status: number, code: InboxRefusal['error']['code'], message: string): void {
  const refused: InboxRefusal = { error: { code, message } }
  send(response, status, { type: 'application/json; charset=utf-8', content: JSON.stringify(refused) })
}

function sendJson(response: ServerResponse, value: InboxPage | InboxMessage | InboxSummary): void {
  send(response, 200, { type: 'application/json; charset=utf-8', content: JSON.stringify(value) })
}

/** What answers HEAD, Node sends without its content. */
function send(
  response: ServerResponse,
  status: number,
  { type, content, policy }: { readonly type: string; readonly content: string; readonly policy?: string },
): void {
  if (policy !== undefined) response.setHeader('Content-Security-Policy', policy)
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(content) }).end(content)
}
