import type { IncomingMessage } from 'node:http'

const mostBytes = 8 * 1024
const withinMs = 10_000

/** The fields of a small form; null when the body is none, too large, or does not arrive. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams | null> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')) return null
  const { promise, resolve } = Promise.withResolvers<URLSearchParams | null>()
  const timer = setTimeout(() => resolve(null), withinMs)
  const chunks: Buffer[] = []
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= mostBytes) chunks.push(chunk)
    else resolve(null)
  })
  request.once('end', () => resolve(new URLSearchParams(Buffer.concat(chunks).toString('utf8'))))
  request.once('close', () => resolve(null))
  return promise.finally(() => clearTimeout(timer))
}
