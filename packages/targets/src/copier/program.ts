import { once } from 'node:events'
import { openSealer } from '../age/sealer.ts'
import { openTarget } from '../open-target.ts'
import { checkTarget } from '../put-checked.ts'
import { findCopy, hasCopy, listCopies, readCopy } from '../read-copies.ts'
import { withRetries } from '../retries.ts'
import { removeAbandoned, removeCopy, removeLeftover, sendCopy } from '../send-copy.ts'
import { type Target, TargetError } from '../target.ts'
import { requireKey, restoreKey, setUpKey, type TargetKey } from '../target-key.ts'
import type { CallName, CopierCalls, CrossingError, FromCopier, Purpose, ToCopier } from './messages.ts'
import { standardInput } from './standard-input.ts'

/*
 * The copier: a process for as long as a target is used. What encryption and the libraries of S3 and SSH need in memory goes with it,
 * and the service answers meanwhile.
 */

/** An act that is under way, by the id of its call. */
const acts = new Map<number, AbortController>()
let used: Promise<Used> | null = null
let noted: PromiseWithResolvers<void> | null = null

interface Used {
  readonly target: Target
  readonly key: TargetKey | null
}

const sealer = openSealer()
const input = standardInput()

// The service is gone: what is not written down is sent again.
process.on('disconnect', () => process.exit(0))
process.on('message', (message: ToCopier) => {
  switch (message.is) {
    case 'purpose':
      used = open(message.purpose)
      // Told to each call.
      used.catch(() => undefined)
      break
    case 'call':
      void answer(message)
      break
    case 'abort':
      acts.get(message.id)?.abort()
      break
    case 'noted':
      if (message.error === null) noted?.resolve()
      else noted?.reject(new Error(message.error))
      break
    default:
      message satisfies never
  }
})

async function open({ access, key, retries }: Purpose): Promise<Used> {
  const target = await openTarget(access)
  if (!retries) return { target, key }
  const onRetry = (error: TargetError, pauseMs: number) => tell({ is: 'retry', error: crossing(error), pauseMs })
  return { target: withRetries(target, { onRetry }), key }
}

async function answer({ id, name, args }: Extract<ToCopier, { is: 'call' }>): Promise<void> {
  const abort = new AbortController()
  acts.set(id, abort)
  try {
    if (used === null) throw new Error('No target was named.')
    const act = calls(await used, abort.signal)[name] as (...values: readonly unknown[]) => unknown
    tell({ is: 'answer', id, value: await act(...args) })
  } catch (error) {
    tell({ is: 'failure', id, error: crossing(error) })
  } finally {
    acts.delete(id)
  }
}

type Acts = { [Name in CallName]: (...args: Parameters<CopierCalls[Name]>) => Promise<ReturnType<CopierCalls[Name]>> }

function calls({ target, key }: Used, signal: AbortSignal): Acts {
  const opened = () => {
    if (key === null) throw new Error('The target has no key yet.')
    return { target, key, sealer, signal }
  }
  return {
    check: () => checkTarget(target, signal),
    setUpKey: (passphrase) => setUpKey(target, sealer, passphrase, signal),
    requireKey: () => requireKey(target, opened().key, signal),
    restoreKey: () => restoreKey(target, opened().key, signal),
    find: (backup) => findCopy(backup, opened()),
    list: async () => {
      const unreadable: string[] = []
      return { found: await listCopies(opened(), ({ message }) => unreadable.push(message)), unreadable }
    },
    has: (backup) => hasCopy(backup, opened()),
    remove: (backup) => removeCopy(backup, opened()),
    removeLeftover: (backup) => removeLeftover(backup, opened()),
    removeAbandoned: (copied) => removeAbandoned(copied, opened()),
    send: (source, sent) =>
      sendCopy(
        { ...source, read: (from, to) => input.read(to - from) },
        {
          ...opened(),
          sent,
          onFirst: () => note({ is: 'first' }),
          onPiece: (at, piece) => note({ is: 'piece', at, piece }),
          onBytes: (bytes) => tell({ is: 'bytes', bytes }),
          now: () => new Date(),
        },
      ),
    read: async (index) => {
      for await (const chunk of readCopy(index, opened())) if (!process.stdout.write(chunk)) await drained(signal)
    },
  }
}

async function drained(signal: AbortSignal): Promise<void> {
  await once(process.stdout, 'drain', { signal })
}

/** Resolves when the service has written it down. One at a time. */
async function note(message: FromCopier): Promise<void> {
  noted = Promise.withResolvers()
  tell(message)
  await noted.promise
}

function tell(message: FromCopier): void {
  if (process.connected) process.send?.(message)
}

function crossing(error: unknown): CrossingError {
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error))
  return { code: error instanceof TargetError ? error.code : null, message, stack }
}
