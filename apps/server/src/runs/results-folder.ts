import { constants } from 'node:fs'
import { chmod, chown, mkdir, open, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ProblemError } from '@stackquay/contract'
import { type Account, removeTree } from '../projects/account.ts'

/**
 * Where a test runner writes its results: one folder a run, which only the account may use. The folder above is ours, so
 * that no program can put a link in the place of one of these.
 */
export interface ResultsFolders {
  pathOf(run: string): string
  /** Makes it anew, empty but for these helpers of ours. */
  make(run: string, files: Readonly<Record<string, string>>): Promise<void>
  /** The text of a file in it. Throws `ProblemError` when it is not there or nothing that is to be read. */
  read(run: string, file: string): Promise<string>
  remove(run: string): Promise<void>
  /** Removes those of every run but the ones that go on. */
  sweep(goesOn: (run: string) => boolean): Promise<void>
}

export const mostResultBytes = 64 << 20

export function createResultsFolders(home: string, account: Account | null): ResultsFolders {
  const above = join(home, 'results')
  const pathOf = (run: string) => join(above, run)

  return {
    pathOf,
    make: async (run, files) => {
      await mkdir(above, { recursive: true, mode: 0o711 })
      if (account !== null) await chmod(above, 0o711)
      const folder = pathOf(run)
      await removeTree(folder)
      await mkdir(folder, { mode: 0o700 })
      for (const [name, text] of Object.entries(files)) {
        const path = join(folder, plainName(name))
        await writeFile(path, text, { flag: 'wx', mode: 0o600 })
        if (account !== null) await chown(path, account.uid, account.gid)
      }
      // Last: from now on everything in it is the account's, and nothing in it is trusted.
      if (account !== null) await chown(folder, account.uid, account.gid)
    },
    read: async (run, file) => readSafely(join(pathOf(run), plainName(file)), account),
    remove: (run) => removeTree(pathOf(run)),
    sweep: async (goesOn) => {
      for (const run of await readdir(above).catch(() => [])) if (!goesOn(run)) await removeTree(pathOf(run))
    },
  }
}

/** Neither a link, nor something that never ends, nor a file of somebody else that was linked to here. */
async function readSafely(path: string, account: Account | null): Promise<string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      throw unreadable(error.code === 'ENOENT' ? 'the runner wrote none' : 'the file is none that can be read')
    },
  )
  try {
    const info = await handle.stat()
    if (!info.isFile()) throw unreadable('there is something else in the place of the file')
    if (account !== null && info.uid !== account.uid) throw unreadable('the file belongs to somebody else')
    if (info.size > mostResultBytes) throw unreadable('they are larger than 64 MB')
    const bytes = Buffer.allocUnsafe(info.size)
    let at = 0
    while (at < bytes.length) {
      const { bytesRead } = await handle.read(bytes, at, bytes.length - at, at)
      if (bytesRead === 0) break
      at += bytesRead
    }
    return bytes.toString('utf8', 0, at)
  } finally {
    await handle.close()
  }
}

export function unreadable(why: string): ProblemError {
  return new ProblemError('io_failed', `The results of the tests could not be read: ${why}.`, {
    hint: 'Its output says what the runner did; the exit code alone decided.',
  })
}

function plainName(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0'))
    throw new RangeError(`"${name}" is no plain file name.`)
  return name
}
