import { checkedArchive } from '@stackquay/engine-api'
import { FilesError } from './as-user/files-error.ts'
import { packTree, unpackTree } from './as-user/tar.ts'
import { archiveFailed, makeIncoming, noSuchData, refuseExisting, refuseWhileUsed } from './data.ts'
import { throwIfAborted } from './errors.ts'
import { dataDir } from './home.ts'
import type { Machine } from './machine.ts'
import { exists } from './waiting.ts'

export async function* readData(
  machine: Machine,
  project: string,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  const path = dataDir(machine.home, project, name)
  await refuseWhileUsed(machine, project, name, 'read')
  if (!(await exists(path))) throw noSuchData(name, 'read')
  const account = await machine.accounts.of(project)
  throwIfAborted(signal)
  let disturbed: string | null = null
  try {
    yield* packTree(account, path, {
      signal,
      complain: (complaint) => {
        if (complaint.what !== 'nothing') disturbed ??= complaint.text
      },
    })
  } catch (error) {
    throwIfAborted(signal)
    throw error instanceof FilesError ? archiveFailed(name, 'read', error) : error
  }
  // Nothing uses it, so nothing writes to it.
  if (disturbed !== null) throw archiveFailed(name, 'read', new FilesError('changed', disturbed))
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
