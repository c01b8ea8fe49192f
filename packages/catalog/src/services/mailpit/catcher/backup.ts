import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { MailStore } from './store.ts'

/** The inbox as a tar of its data folder, for `service-backup`. Mails may come and go meanwhile. */
export async function sendCopy(store: MailStore, response: ServerResponse): Promise<void> {
  const copy = await store.copy()
  try {
    response.writeHead(200, { 'Content-Type': 'application/x-tar' })
    await pipeline(Readable.from(copy.chunks(), { objectMode: false }), response)
  } finally {
    await copy.release()
  }
}

/** The longest that reading may take: a connection without a word for longer is cut off. */
const readingMilliseconds = 240_000

/**
 * How many messages there are, and a checksum over all their bytes. Those that are left when the time is over are counted alone,
 * and `read` is smaller than `messages`.
 */
export async function contentsOf(store: MailStore): Promise<string> {
  const deadline = Date.now() + readingMilliseconds
  const hash = createHash('sha256')
  let read = 0
  let bytes = 0
  const ids = store.ids()
  for (const id of ids) {
    const found = store.find(id)
    if (found === null) continue
    if (Date.now() > deadline) break
    hash.update(JSON.stringify([id, found.summary.read, found.summary.sizeBytes]))
    for await (const chunk of createReadStream(found.path) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      bytes += chunk.length
    }
    read += 1
  }
  return `${JSON.stringify({ messages: ids.length, read, bytes, checksum: hash.digest('hex') })}\n`
}
