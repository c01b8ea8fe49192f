import { open, rename, rm } from 'node:fs/promises'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'

/** A service that goes away in the middle must not leave something that looks whole. `what` begins a sentence. */
export async function* whole(
  what: string,
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    signal.throwIfAborted()
    throw new CliError(`${what} broke off before its end.`, {
      exitCode: exitCodes.unreachable,
      hint: 'It is incomplete. Check that the service runs, then try again.',
      cause: error,
    })
  }
}

/** Readable for its owner alone, and under another name until it is whole. Answers its size in bytes. */
export async function writeWholeFile(file: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const unfinished = `${file}.part`
  let bytes = 0
  try {
    await using handle = await open(unfinished, 'w', 0o600).catch((error: Error) => {
      throw new CliError(`The file cannot be written: ${error.message}`, { exitCode: exitCodes.failed })
    })
    for await (const chunk of chunks) {
      await handle.writeFile(chunk)
      bytes += chunk.length
    }
    await handle.sync()
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
  await rename(unfinished, file)
  return bytes
}
