import { chmod, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ProblemError } from '@stackquay/contract'
import { type Account, FilesError, makeGivenFolder, removeGivenFolder, type UserFiles } from '@stackquay/engines'

/**
 * Where a test runner writes its results: one folder a run, which only the project's user may use. The folder above is ours, so
 * that no program can put a link in the place of one of these; what is in one is used as that user.
 */
export interface ResultsFolders {
  pathOf(run: string): string
  /** Makes it anew, empty but for these helpers of ours. */
  make(run: string, account: Account | null, files: Readonly<Record<string, string>>): Promise<void>
  /** The text of a file in it. Throws `ProblemError` when it is not there or nothing that is to be read. */
  read(run: string, account: Account | null, file: string): Promise<string>
  remove(run: string): Promise<void>
  /** Removes those of every run but the ones that go on; one that cannot be removed keeps no other. */
  sweep(goesOn: (run: string) => boolean): Promise<void>
}

export const mostResultBytes = 64 << 20

export function createResultsFolders(home: string, files: Pick<UserFiles, 'of'>): ResultsFolders {
  const above = join(home, 'results')
  const pathOf = (run: string) => join(above, run)

  return {
    pathOf,
    make: async (run, account, helpers) => {
      await mkdir(above, { recursive: true, mode: 0o711 })
      if (account !== null) await chmod(above, 0o711)
      const root = pathOf(run)
      await removeGivenFolder(root)
      await makeGivenFolder(root, account, 0o700)
      for (const [name, text] of Object.entries(helpers)) {
        const path = plainName(name)
        await files.of(account).write({ root, path, bytes: Buffer.from(text), mode: 0o600, exclusive: true })
      }
    },
    read: async (run, account, file) => {
      const options = { root: pathOf(run), path: plainName(file), maxBytes: mostResultBytes, own: true }
      const bytes = await files
        .of(account)
        .read({ ...options, timeoutMs: 60_000 })
        .catch((error: unknown) => {
          throw error instanceof FilesError ? unreadable(reasons[error.code] ?? reasons.other!) : error
        })
      return bytes.toString('utf8')
    },
    remove: (run) => removeGivenFolder(pathOf(run)),
    sweep: async (goesOn) => {
      const failed: unknown[] = []
      for (const run of await readdir(above).catch(() => []))
        if (!goesOn(run)) await removeGivenFolder(pathOf(run)).catch((error: unknown) => failed.push(error))
      if (failed.length > 0) throw failed[0]
    },
  }
}

const reasons: Readonly<Partial<Record<FilesError['code'] | 'other', string>>> = {
  missing: 'the runner wrote none',
  not_a_file: 'there is something else in the place of the file',
  outside: 'there is something else in the place of the file',
  denied: 'the file belongs to somebody else',
  too_large: 'they are larger than 64 MB',
  timeout: 'reading them took too long',
  other: 'the file is none that can be read',
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
