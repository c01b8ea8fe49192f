import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Hands bytes on and waits while the other side is slow. What cannot arrive any more is dropped without a word. */
export async function writeAll(stream: Writable, bytes: Uint8Array): Promise<void> {
  if (stream.destroyed || stream.writableEnded) return
  await new Promise<void>((resolve) => {
    const done = () => {
      stream.off('close', done)
      resolve()
    }
    stream.once('close', done)
    stream.write(bytes, done)
  })
}

/** Text for people on their terminal. */
export function inTerminal(text: string): Buffer {
  return Buffer.from(`${text.replace(/\r?\n/g, '\r\n')}\r\n`)
}

/** Resolves when the stream is closed, whyever. */
export async function closed(stream: Writable): Promise<void> {
  if (!stream.closed) await once(stream, 'close').catch(() => undefined)
}
