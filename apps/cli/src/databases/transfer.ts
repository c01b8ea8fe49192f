import type { Context } from '../context.ts'
import { size } from '../output/size.ts'

/** Hands on what is sent or received; on a terminal it says how much that is. `what`: `Received`. */
export async function* transferred(
  { json, quiet, world, noteStyle }: Pick<Context, 'json' | 'quiet' | 'world' | 'noteStyle'>,
  what: string,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const isShown = !json && !quiet && noteStyle.columns !== null
  let bytes = 0
  let next = world.now() + everyMs
  let isDrawn = false
  try {
    for await (const chunk of chunks) {
      yield chunk
      bytes += chunk.length
      if (!isShown || world.now() < next) continue
      next = world.now() + everyMs
      world.stderr.write(`\r\x1b[2K${what} ${size(bytes)}`)
      isDrawn = true
    }
  } finally {
    if (isDrawn) world.stderr.write('\r\x1b[2K')
  }
}

const everyMs = 250
