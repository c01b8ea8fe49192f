import { checkedArchive, type PipedBytes } from '@stackquay/engine-api'
import { FilesError } from './as-user/files-error.ts'
import { packTree, unpackTree } from './as-user/tar.ts'
import { archiveFailed, makeIncoming, noSuchData, refuseExisting, refuseWhileUsed } from './data.ts'
import { throwIfAborted } from './errors.ts'
import { dataDir } from './home.ts'
import type { Machine } from './machine.ts'
import { exists } from './waiting.ts'

export function readData(machine: Machine, project: string, name: string, signal: AbortSignal): PipedBytes {
  return {
    async *[Symbol.asyncIterator]() {
      const reading = await beginReading(machine, project, name, signal)
      try {
        yield* reading.bytes
      } catch (error) {
        throw reading.asReadError(error)
      }
      reading.end()
    },
    async into(pipe, stopped) {
      const reading = await beginReading(machine, project, name, signal)
      await reading.bytes.into(pipe, stopped).catch((error: unknown) => {
        throw reading.asReadError(error)
      })
      reading.end()
      return true
    },
  }
}

async function beginReading(machine: Machine, project: string, name: string, signal: AbortSignal) {
  const path = dataDir(machine.home, project, name)
  await refuseWhileUsed(machine, project, name, 'read')
  if (!(await exists(path))) throw noSuchData(name, 'read')
  const account = await machine.accounts.of(project)
  throwIfAborted(signal)
  let disturbed: string | null = null
  const bytes = packTree(account, path, {
    signal,
    complain: (complaint) => {
      if (complaint.what !== 'nothing') disturbed ??= complaint.text
    },
  })
  return {
    bytes,
    asReadError: (error: unknown) => {
      throwIfAborted(signal)
      return error instanceof FilesError ? archiveFailed(name, 'read', error) : error
    },
    /** Nothing uses it, so nothing writes to it. */
    end: () => {
      if (disturbed !== null) throw archiveFailed(name, 'read', new FilesError('changed', disturbed))
    },
  }
}

export async function writeData(
  machine: Machine,
  project: string,
  name: string,
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  await refuseWhileUsed(machine, project, name, 'replaced')
  await refuseExisting(machine, project, name)
  throwIfAborted(signal)
  await makeIncoming(machine, project, name, signal, async (incoming, account) => {
    const checked = checkedArchive(archive, { parents: true })
    await unpackTree(account, incoming, checked, signal).catch((error: unknown) => {
      throwIfAborted(signal)
      throw error instanceof FilesError ? archiveFailed(name, 'written', error) : error
    })
  })
}
