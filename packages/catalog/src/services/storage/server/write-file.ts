import { type FileHandle, open } from 'node:fs/promises'

const writeSize = 1024 * 1024

/** Creates the file with all chunks, on disk when it answers. Answers its size. */
export async function writeFileDurably(path: string, chunks: AsyncIterable<Buffer>): Promise<number> {
  const handle = await open(path, 'wx', 0o600)
  try {
    const size = await writeAll(handle, chunks)
    await handle.datasync()
    return size
  } finally {
    await handle.close()
  }
}

/** The next chunks are hashed while the last megabyte is being written; the network waits for both. */
async function writeAll(handle: FileHandle, chunks: AsyncIterable<Buffer>): Promise<number> {
  let size = 0
  let waiting: Buffer[] = []
  let waitingSize = 0
  let writing: Promise<unknown> = Promise.resolve()
  const flush = async () => {
    await writing
    writing = writeWhole(handle, waiting)
    // The next chunk may throw first; the next `await writing` still finds the failure.
    writing.catch(() => {})
    waiting = []
    waitingSize = 0
  }
  try {
    for await (const chunk of chunks) {
      size += chunk.length
      waitingSize += chunk.length
      waiting.push(chunk)
      if (waitingSize >= writeSize || waiting.length >= 512) await flush()
    }
    if (waitingSize > 0) await flush()
  } finally {
    // Never close a file under a write.
    await writing.catch(() => {})
  }
  await writing
  return size
}

async function writeWhole(handle: FileHandle, blocks: readonly Buffer[]): Promise<void> {
  const { bytesWritten } = await handle.writev(blocks)
  const rest = blocks.reduce((sum, block) => sum + block.length, -bytesWritten)
  // A disk that is nearly full takes a part; writing the rest then fails with the reason.
  if (rest > 0) await handle.writeFile(Buffer.concat(blocks).subarray(bytesWritten))
}
