import { Readable } from 'node:stream'
import { checkedArchive, EngineError } from '@stackquay/engine-api'
import { throwIfAborted } from '../native/errors.ts'
import { chownInside, type Owner } from './archive.ts'
import { discard } from './create-container.ts'
import type { Daemon } from './daemon.ts'
import {
  dataNames,
  holdingContainer,
  INSIDE,
  noSuchData,
  refuseExisting,
  refuseWhileUsed,
  withIncoming,
} from './data.ts'
import { asDockerError } from './errors.ts'

/*
 * Kept data as archives, through containers that are never started. Docker writes and reads holes as zeros.
 */

/** Docker answers an error in the middle of an archive as if it were more of it, so the archive is checked here. */
export async function* readData(
  daemon: Daemon,
  project: string,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  try {
    await refuseWhileUsed(daemon, project, name, 'read')
    if (!(await dataNames(daemon, project)).includes(name)) throw noSuchData(name, 'read')
    const source = await holdingContainer(daemon, project, name, 'read')
    try {
      throwIfAborted(signal)
      const archive = await source.getArchive({ path: `${INSIDE}/.`, abortSignal: signal })
      yield* checkedArchive(archive as AsyncIterable<Buffer>)
    } finally {
      await discard(source)
    }
  } catch (error) {
    throw asDockerError(error, signal)
  }
}

/**
 * Docker unpacks within the container's own files: what an archive writes elsewhere goes with the container. Owners are the numbers of the
 * archive; errors of its source are thrown as they are.
 */
export async function writeData(
  daemon: Daemon,
  project: string,
  name: string,
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  let source: { readonly error: unknown } | null = null
  const watched = async function* () {
    try {
      yield* archive
    } catch (error) {
      source = { error }
      throw error
    }
  }
  try {
    await refuseWhileUsed(daemon, project, name, 'replaced')
    await refuseExisting(daemon, project, name)
    throwIfAborted(signal)
    await withIncoming(daemon, project, name, () => fill(daemon, project, name, watched(), signal))
  } catch (error) {
    if (source !== null && !signal.aborted) throw (source as { readonly error: unknown }).error
    throw asDockerError(error, signal)
  }
}

async function fill(
  daemon: Daemon,
  project: string,
  name: string,
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const target = await holdingContainer(daemon, project, name, 'write')
  let top: Owner | null = null
  let refused: EngineError | null = null
  const checked = async function* () {
    try {
      yield* checkedArchive(archive, {
        top: (owner) => {
          top = owner
        },
      })
    } catch (error) {
      if (error instanceof EngineError) refused = error
      throw error
    }
  }
  try {
    throwIfAborted(signal)
    await target.putArchive(Readable.from(checked()), { path: INSIDE, abortSignal: signal })
    throwIfAborted(signal)
    // Docker passes over the directory that an archive is unpacked into.
    if (top !== null) await chownInside(target, INSIDE, top)
  } catch (error) {
    throw refused ?? error
  } finally {
    await discard(target)
  }
}
