import { once } from 'node:events'
import type { Context } from '../context.ts'

/** Bytes as they are, no faster than they are taken. */
export async function writeBytes({ world, signal }: Context, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of chunks) {
    if (!world.stdout.write(chunk)) await once(world.stdout, 'drain', { signal })
  }
}
