import type { Account } from '../account.ts'
import type { ReadManyArgs } from './acts.ts'
import { FilesError } from './files-error.ts'
import { keyOf } from './helper-slots.ts'
import { createHelpers, type Helpers } from './helpers.ts'
import { type Perform, type ProjectFiles, performHere, projectFiles } from './project-files.ts'
import { readWithTar } from './read-with-tar.ts'

/**
 * Files of projects, each used as the project's user. Root never follows a path into a folder that a project can write; it asks a
 * process which has that user's rights alone and can never get others.
 */
export interface UserFiles {
  /** Null: the user of the service. */
  of(account: Account | null): ProjectFiles
  /** Ends the account's process now, as after a stop of its project; the next use starts another. */
  release(account: Account): Promise<void>
  /** Ends every process; calls that wait for one fail. */
  close(): Promise<void>
}

export interface UserFilesOptions {
  /** Where Node keeps what it compiled of the helper; only root may write there. */
  readonly compiled?: string | null
  /** The most processes at once. */
  readonly most?: number
  /** How long one stays that has nothing to do. */
  readonly idleMs?: number
}

export function createUserFiles({ compiled = null, most = 8, idleMs = 10_000 }: UserFilesOptions = {}): UserFiles {
  const helpers = createHelpers({ compiled, most, idleMs })
  const here = projectFiles(performHere)
  const known = new Map<string, ProjectFiles>()
  return {
    of: (account) => {
      if (account === null || isThisUser(account)) return here
      if (!(account.uid > 0 && account.gid > 0)) throw new FilesError('denied', 'The user of a project is never root.')
      const found = known.get(keyOf(account)) ?? filesAs(account, helpers)
      known.set(keyOf(account), found)
      return found
    },
    release: helpers.release,
    close: helpers.close,
  }
}

/** Plain files are read without a process that has to start first: each creation and each start of a project begins with that. */
function filesAs(account: Account, helpers: Helpers): ProjectFiles {
  const files = projectFiles(performAs(account, helpers))
  const quickly = (args: ReadManyArgs, signal: AbortSignal | undefined) =>
    helpers.insteadOf(account, () => readWithTar(account, args, signal))
  return {
    ...files,
    read: async (options) => {
      const { root, path, maxBytes, signal, own } = options
      const args = { root, paths: [path], maxBytesEach: maxBytes, maxBytes }
      const quick = own === true ? null : await quickly(args, signal)
      const found = quick?.get(path)
      if (quick !== null && found === undefined) throw new FilesError('missing')
      return Buffer.isBuffer(found) ? found : files.read(options)
    },
    readMany: async (options) => (await quickly(options, options.signal)) ?? files.readMany(options),
  }
}

/** Once again with a new process, when one was killed or answered nonsense: that says nothing about the files. */
function performAs(account: Account, helpers: Helpers): Perform {
  return async (act, args, { bytes = Buffer.alloc(0), maxBytes, signal, timeoutMs, again }) => {
    const deadline = AbortSignal.timeout(timeoutMs + startMs)
    const either = signal === undefined ? deadline : AbortSignal.any([signal, deadline])
    const once = () =>
      helpers.with(account, either, (helper) => helper.call({ act, args, bytes, maxBytes, timeoutMs, signal }))
    try {
      signal?.throwIfAborted()
      return await once().catch((error: unknown) => {
        if (!again || either.aborted || !(error instanceof FilesError) || error.code !== 'broken') throw error
        return once()
      })
    } catch (error) {
      signal?.throwIfAborted()
      throw deadline.aborted ? new FilesError('timeout') : error
    }
  }
}

const startMs = 10_000

function isThisUser({ uid }: Account): boolean {
  return process.getuid?.() === uid && uid !== 0
}
