import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { isUnchanged, type Part, requestedPart } from './conditional.ts'
import { contentTypeOf } from './content-types.ts'
import { type Found, type FoundFile, findFile, openRoot } from './find-file.ts'
import { directoryHint, notFoundPage } from './not-found-page.ts'

/**
 * `static-server --root DIR --port N [--host 127.0.0.1] [--spa-fallback]`: serves the files of a folder. GET and HEAD,
 * index.html, conditional and range requests (RFC 9110). Nothing outside the folder is reachable, neither by `..` nor by a
 * symbolic link; names that begin with a dot are hidden, `.well-known` excepted (RFC 8615).
 */
const { values: options } = parseArgs({
  options: {
    root: { type: 'string' },
    port: { type: 'string' },
    host: { type: 'string', default: '127.0.0.1' },
    'spa-fallback': { type: 'boolean', default: false },
  },
})
if (options.root === undefined || options.port === undefined) {
  console.error('Usage: static-server --root DIR --port N [--host ADDRESS] [--spa-fallback]')
  process.exit(2)
}

const root = await openRoot(options.root).catch((error: Error) => {
  console.error(`The folder ${options.root} cannot be served: ${error.message}`)
  process.exit(1)
})

// A proxy keeps connections open and reuses them; one that ends here first would cost it a failed request.
const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  answer(request, response).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_STREAM_PREMATURE_CLOSE') return
    console.error(`${request.method} ${request.url} failed: ${error.message}`)
    if (response.headersSent) response.destroy()
    else response.writeHead(500, { 'Content-Type': 'text/plain; charset=utf-8' }).end('The file could not be read.\n')
  })
})

server.on('error', (error) => {
  console.error(`The static server cannot listen: ${error.message}`)
  process.exit(1)
})
server.listen(Number(options.port), options.host, () => {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  console.log(`Serving ${root.path} on http://${options.host}:${port}`)
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    server.close(() => process.exit(0))
    setTimeout(() => server.closeAllConnections(), 5_000).unref()
  })
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader('X-Content-Type-Options', 'nosniff')
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { Allow: 'GET, HEAD', 'Content-Type': 'text/plain; charset=utf-8' })
    response.end('Only GET and HEAD are answered here.\n')
    return
  }
  const [path = '/', query] = splitOnce(request.url ?? '/', '?')
  const found = await findFile(root, path)
  if (found.kind === 'file') return sendFile(request, response, found, 200)
  if (found.kind === 'folder') {
    const location = query === undefined ? found.location : `${found.location}?${query}`
    response.writeHead(301, { Location: location, 'Content-Length': 0 }).end()
    return
  }
  await sendNotFound(request, response, found, path)
}

async function sendNotFound(
  request: IncomingMessage,
  response: ServerResponse,
  found: Exclude<Found, FoundFile>,
  path: string,
): Promise<void> {
  if (options['spa-fallback'] && found.kind !== 'malformed' && wantsPage(request, path)) {
    const index = await findFile(root, '/')
    if (index.kind === 'file') return sendFile(request, response, index, 200)
  }
  const own = await findFile(root, '/404.html')
  console.error(`${request.method} ${path.slice(0, 200)} 404`)
  if (own.kind === 'file') return sendFile(request, response, own, 404)
  const page = notFoundPage(path, found.kind === 'noIndex' ? directoryHint : null)
  response.writeHead(404, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(page),
    'Cache-Control': 'no-cache',
  })
  response.end(request.method === 'HEAD' ? undefined : page)
}

/** An application routes pages, not assets: a missing script answered with HTML hides the mistake. */
function wantsPage(request: IncomingMessage, path: string): boolean {
  const last = path.slice(path.lastIndexOf('/') + 1)
  return (request.headers.accept ?? '').includes('text/html') || !last.includes('.')
}

async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  file: FoundFile,
  status: 200 | 404,
): Promise<void> {
  try {
    response.setHeader('ETag', file.etag)
    response.setHeader('Last-Modified', file.modified.toUTCString())
    // Stored, but asked about before each use: what was edited shows at once.
    response.setHeader('Cache-Control', 'no-cache')
    if (status === 200 && isUnchanged(request.headers, file)) {
      response.writeHead(304).end()
      return
    }
    response.setHeader('Content-Type', contentTypeOf(file.name))
    response.setHeader('Accept-Ranges', 'bytes')
    const part: Part = status === 200 ? requestedPart(request.headers, file) : { kind: 'whole' }
    if (part.kind === 'unsatisfiable') {
      response.writeHead(416, { 'Content-Range': `bytes */${file.size}`, 'Content-Length': 0 }).end()
      return
    }
    const [start, end] = part.kind === 'range' ? [part.start, part.end] : [0, file.size - 1]
    if (part.kind === 'range') response.setHeader('Content-Range', `bytes ${start}-${end}/${file.size}`)
    response.writeHead(part.kind === 'range' ? 206 : status, { 'Content-Length': end - start + 1 })
    if (request.method === 'HEAD' || end < start) {
      response.end()
      return
    }
    await pipeline(file.handle.createReadStream({ start, end, autoClose: false }), response)
  } finally {
    await file.handle.close()
  }
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)]
}
