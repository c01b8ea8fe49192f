import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from '../account.ts'
import type { ReadManyArgs } from './acts.ts'
import { FilesError } from './files-error.ts'
import { type HelperProcess, startHelper } from './helper-process.ts'
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

interface Helpers {
  /** Null, and nothing is done, where the account has a process already or many others are at work. */
  insteadOf<T>(account: Account, act: () => Promise<T>): Promise<T | null>
  release(account: Account): Promise<void>
  /** Runs it with the account's process, which is not ended meanwhile. */
  with<T>(account: Account, signal: AbortSignal, use: (helper: HelperProcess) => Promise<T>): Promise<T>
  close(): Promise<void>
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

function createHelpers({ compiled, most, idleMs }: Required<UserFilesOptions>): Helpers {
  interface Slot {
    readonly helper: Promise<HelperProcess>
    users: number
    lastUsed: number
    timer: NodeJS.Timeout | null
  }
  const slots = new Map<string, Slot>()
  const leaving = new Set<Promise<void>>()
  let freed = Promise.withResolvers<void>()
  let closed = false
  let quick = 0

  const drop = (key: string, slot: Slot): Promise<void> => {
    if (slot.timer !== null) clearTimeout(slot.timer)
    if (slots.get(key) === slot) slots.delete(key)
    const gone = slot.helper
      .then(async (helper) => {
        helper.end()
        await helper.gone
      })
      .catch(() => undefined)
      .finally(() => leaving.delete(gone))
    leaving.add(gone)
    wake()
    return gone
  }
  const wake = () => {
    freed.resolve()
    freed = Promise.withResolvers()
  }
  /** Null when all are busy. */
  const slotOf = (account: Account): Slot | null => {
    const key = keyOf(account)
    const known = slots.get(key)
    if (known !== undefined) return known
    if (slots.size >= most) {
      const [idle] = [...slots].filter(([, slot]) => slot.users === 0).sort(([, a], [, b]) => a.lastUsed - b.lastUsed)
      if (idle === undefined) return null
      void drop(...idle)
    }
    const slot: Slot = { helper: startHelper(account, compiled), users: 0, lastUsed: 0, timer: null }
    slots.set(key, slot)
    slot.helper
      .then((helper) => helper.gone)
      .then(
        () => drop(key, slot),
        () => drop(key, slot),
      )
    return slot
  }

  return {
    insteadOf: async (account, act) => {
      if (closed || quick >= most || slots.has(keyOf(account))) return null
      quick += 1
      try {
        return await act()
      } finally {
        quick -= 1
      }
    },
    with: async (account, signal, use) => {
      for (;;) {
        signal.throwIfAborted()
        if (closed) throw new FilesError('broken', 'The service is ending.')
        const slot = slotOf(account)
        if (slot === null) {
          await orAborted(freed.promise, signal)
          continue
        }
        slot.users += 1
        if (slot.timer !== null) clearTimeout(slot.timer)
        try {
          return await use(await slot.helper.catch(couldNotStart))
        } catch (error) {
          // One that is dead gives its place away before anybody asks it again.
          if (error instanceof FilesError && error.code === 'broken') void drop(keyOf(account), slot)
          throw error
        } finally {
          slot.users -= 1
          slot.lastUsed = performance.now()
          if (slot.users === 0) {
            slot.timer = setTimeout(() => void drop(keyOf(account), slot), idleMs).unref()
            wake()
          }
        }
      }
    },
    release: async (account) => {
      const slot = slots.get(keyOf(account))
      if (slot !== undefined) await drop(keyOf(account), slot)
    },
    close: async () => {
      closed = true
      for (const [key, slot] of slots) void drop(key, slot)
      await Promise.race([Promise.all(leaving), sleep(5_000)])
    },
  }
}

function couldNotStart(cause: unknown): never {
  throw cause instanceof FilesError ? cause : new FilesError('broken', undefined, { cause })
}

async function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  let abort = () => {}
  const aborted = new Promise<void>((resolve) => {
    abort = resolve
    signal.addEventListener('abort', abort, { once: true })
  })
  await Promise.race([promise, aborted])
  signal.removeEventListener('abort', abort)
}

function keyOf({ uid, gid }: Account): string {
  return `${uid}:${gid}`
}

function isThisUser({ uid }: Account): boolean {
  return process.getuid?.() === uid && uid !== 0
}
