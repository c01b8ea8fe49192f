import { ProblemError } from '@stackquay/contract'
import { readFilePath } from '@stackquay/domain'
import { FilesError, type SftpFiles } from '@stackquay/engines'
import { ifMatchHolds } from '../http/preconditions.ts'
import type { PartFiles } from './part-files.ts'
import { problemOf, sftpPath } from './paths.ts'
import { etagOf, lookAt } from './read-handlers.ts'

export const mostBytes = 4 * 1024 ** 3

export interface Wanted {
  readonly project: string
  readonly names: readonly string[]
  /** `If-Match` as handlers read it; null for a file that must not be there yet. */
  readonly ifMatch: string | null
  readonly content: AsyncIterable<Uint8Array>
  /** Runs the last step while nobody else runs it for the same file. */
  alone<T>(work: () => Promise<T>): Promise<T>
}

export interface Written {
  readonly size: number
  readonly etag: string
  readonly isNew: boolean
}

/**
 * Whole or not at all: beside its place, to the disk, then renamed over it. Nobody loses what another one wrote through us; a program of the
 * project that writes in the moment between the last look and the rename does.
 */
export async function writeWhole(files: SftpFiles, wanted: Wanted, parts: PartFiles): Promise<Written> {
  const { names } = wanted
  const place = await placeBehind(files, names)
  const before = await thereNow(files, place)
  refuseChanged(before, wanted)
  return parts.use(files, { project: wanted.project, folder: place.slice(0, -1) }, async (part) => {
    const handle = await files.openNew(part, before === null ? 0o666 : before.mode & 0o777)
    try {
      const size = await writeAll(files, handle, wanted.content)
      if (before !== null) await files.setMode(handle, before.mode & 0o777)
      await files.sync(handle)
      await wanted.alone(async () => {
        refuseChanged(await thereNow(files, place), wanted)
        if (wanted.ifMatch === null) await files.rename(part, sftpPath(place)).catch(orThere(names))
        else await files.replace(part, sftpPath(place))
      })
      return { size, etag: etagOf(await files.mark(handle)), isNew: before === null }
    } finally {
      await files.close(handle).catch(() => undefined)
    }
  })
}

/** One piece is written while the next one arrives. */
async function writeAll(files: SftpFiles, handle: Buffer, content: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0
  let written: Promise<void> = Promise.resolve()
  for await (const chunk of content) {
    await written
    if (size + chunk.length > mostBytes)
      throw new ProblemError('too_large', 'The file has more than 4 GiB.', { hint: 'Copy it with SFTP or rsync.' })
    written = files.write(handle, size, chunk)
    // Its error is told below, or with the next piece; the content may break off before.
    written.catch(() => undefined)
    size += chunk.length
  }
  await written
  return size
}

/** Where a link leads that is written through: the link stays. */
async function placeBehind(files: SftpFiles, names: readonly string[]): Promise<readonly string[]> {
  const real = Buffer.from(await files.realPath(sftpPath(names)), 'latin1').toString('utf8')
  const path = readFilePath(real)
  if (!path.ok || path.names.length === 0) throw new FilesError('denied')
  return path.names
}

async function thereNow(files: SftpFiles, names: readonly string[]) {
  try {
    return await lookAt(files, names)
  } catch (error) {
    if (error instanceof FilesError && error.code === 'missing') return null
    throw error
  }
}

function refuseChanged(there: { readonly etag: string } | null, { names, ifMatch }: Wanted): void {
  const path = names.join('/')
  if (ifMatch === null) {
    if (there !== null) throw isThere(path)
    return
  }
  if (there === null)
    throw new ProblemError('precondition_failed', `"${path}" is not there any more.`, {
      hint: 'To make it again, send If-None-Match: *.',
    })
  if (!ifMatchHolds(ifMatch, there.etag))
    throw new ProblemError('precondition_failed', `"${path}" was changed since it was read.`)
}

function isThere(path: string): ProblemError {
  return new ProblemError('precondition_failed', `There is a "${path}" already.`, {
    hint: 'To replace it, send If-Match with its ETag, or * for whatever is there.',
  })
}

/** Made by somebody in the same moment. */
function orThere(names: readonly string[]) {
  return (error: unknown): never => {
    if (error instanceof FilesError && error.code === 'exists') throw isThere(names.join('/'))
    throw problemOf(error, names)
  }
}
