import type { Account } from '../account.ts'
import { FilesError } from './files-error.ts'
import type { HelperProcess } from './helper-process.ts'
import { createHelperSlots, type SlotOptions } from './helper-slots.ts'

/** The processes that act as users of projects, at most one for each. */
export interface Helpers {
  /** Null, and nothing is done, where the account has a process already or many others are at work. */
  insteadOf<T>(account: Account, act: () => Promise<T>): Promise<T | null>
  release(account: Account): Promise<void>
  /** Runs it with the account's process, which is not ended meanwhile. */
  with<T>(account: Account, signal: AbortSignal, use: (helper: HelperProcess) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export function createHelpers(options: SlotOptions): Helpers {
  const slots = createHelperSlots(options)
  let closed = false
  let quick = 0

  return {
    insteadOf: async (account, act) => {
      if (closed || quick >= options.most || slots.has(account)) return null
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
        const slot = slots.slotOf(account)
        if (slot === null) {
          await orAborted(slots.freed(), signal)
          continue
        }
        slots.use(slot)
        try {
          return await use(await slot.helper.catch(couldNotStart))
        } catch (error) {
          // One that is dead gives its place away before it is asked again.
          if (error instanceof FilesError && error.code === 'broken') void slots.drop(slot)
          throw error
        } finally {
          slots.leave(slot)
        }
      }
    },
    release: slots.release,
    close: async () => {
      closed = true
      await slots.close()
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
