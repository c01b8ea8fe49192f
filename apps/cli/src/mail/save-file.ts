import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { numberedName } from './safe-file-name.ts'

export interface SavedFile {
  readonly path: string
  readonly sizeBytes: number
}

/** Writes a file that was not there before, numbered when the name is taken. What comes to no end leaves nothing behind. */
export async function saveFile(folder: string, name: string, chunks: AsyncIterable<Uint8Array>): Promise<SavedFile> {
  const { path, handle } = await createNew(folder, name)
  let sizeBytes = 0
  try {
    for await (const chunk of chunks) {
      await handle.writeFile(chunk)
      sizeBytes += chunk.length
    }
    await handle.close()
  } catch (error) {
    await handle.close().catch(() => {})
    await rm(path, { force: true })
    throw error
  }
  return { path, sizeBytes }
}

const tries = 1000

async function createNew(folder: string, name: string): Promise<{ path: string; handle: FileHandle }> {
  for (let number = 1; number <= tries; number++) {
    const path = join(folder, numberedName(name, number))
    try {
      // "x" neither overwrites nor follows a link, also one that points to nothing.
      return { path, handle: await open(path, 'wx', 0o600) }
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (code !== 'EEXIST') throw cannotWrite(message)
    }
  }
  throw cannotWrite(`${folder} has ${tries} files named like ${name}`)
}

function cannotWrite(why: string): CliError {
  return new CliError(`The file cannot be written: ${why}`, { exitCode: exitCodes.failed })
}
