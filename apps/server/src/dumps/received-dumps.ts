import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ProblemError } from '@stackquay/contract'
import { newId, type Store } from '@stackquay/store'

/** Dumps that were received whole, each until its import has ended. */
export interface ReceivedDumps {
  /** Hands on what comes, once it is written. */
  receive(content: AsyncIterable<Uint8Array>): { readonly id: string; readonly written: AsyncIterable<Uint8Array> }
  read(id: string): AsyncIterable<Uint8Array>
  remove(id: string): Promise<void>
}

/** In a folder of their own, which others cannot enter. What no operation waits for goes. */
export async function openReceivedDumps(home: string, store: Pick<Store, 'operations'>): Promise<ReceivedDumps> {
  const folder = join(home, 'dumps')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const needed = (await store.operations.unfinished()).map(({ input }) => input.dump)
  for (const name of await readdir(folder)) if (!needed.includes(name)) await rm(join(folder, name), { force: true })
  return {
    receive(content) {
      const id = newId('dump')
      return { id, written: writing(content, join(folder, id)) }
    },
    read: (id) => createReadStream(join(folder, id), { highWaterMark: 1 << 18 }),
    remove: (id) => rm(join(folder, id), { force: true }),
  }
}

async function* writing(content: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<Uint8Array> {
  await using file = await open(path, 'wx', 0o600)
  for await (const chunk of content) {
    await file.writeFile(chunk).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOSPC' && error.code !== 'EDQUOT') throw error
      throw new ProblemError('disk_full', 'The disk filled up while the dump came in.', { cause: error })
    })
    yield chunk
  }
}
