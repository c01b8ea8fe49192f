import { BrowseError, type SqlServer } from '../browse/driver.ts'
import type { KeyServer } from '../browse/key-driver.ts'
import { sqlActs } from '../browse/sql-acts.ts'
import { sqlDrivers } from '../databases/drivers.ts'
import { keyDrivers } from '../services/drivers.ts'
import type { BrowseCalls, CallName, CrossingError, FromBrowser, Purpose, ToBrowser } from './messages.ts'

/*
 * A process that looks into one database. What its server answers is the project’s word: too much of it, or nonsense, costs this process
 * alone, and what clients of databases need in memory goes with it.
 */

type Opened = { readonly of: 'sql'; readonly server: SqlServer } | { readonly of: 'keys'; readonly server: KeyServer }

const acts = new Map<number, AbortController>()
/** Who waits until a chunk was taken. */
const taking = new Map<number, () => void>()
/** Who waits for content. */
const receiving = new Map<number, (bytes: Uint8Array | null) => void>()
let purpose: Purpose | null = null
let opened: Promise<Opened> | null = null

const mostMemory = 512 * 1024 * 1024
setInterval(() => {
  if (process.memoryUsage.rss() > mostMemory) process.exit(memoryExit)
}, 50).unref()
const memoryExit = 77

// The service is gone: nobody waits.
process.on('disconnect', () => process.exit(0))
process.on('message', (message: ToBrowser) => {
  switch (message.is) {
    case 'purpose':
      purpose = message.purpose
      break
    case 'call':
      void answer(message)
      break
    case 'abort':
      acts.get(message.id)?.abort()
      taking.get(message.id)?.()
      receiving.get(message.id)?.(null)
      break
    case 'content':
      receiving.get(message.id)?.(message.bytes)
      break
    case 'taken':
      taking.get(message.id)?.()
      break
    default:
      message satisfies never
  }
})

async function answer({ id, name, args }: Extract<ToBrowser, { is: 'call' }>): Promise<void> {
  const abort = new AbortController()
  acts.set(id, abort)
  try {
    const act = (await calls(id, abort.signal))[name] as (...values: readonly unknown[]) => unknown
    tell({ is: 'answer', id, value: await act(...args) })
  } catch (error) {
    tell({ is: 'failure', id, error: crossing(error) })
  } finally {
    acts.delete(id)
    taking.delete(id)
    receiving.delete(id)
  }
}

type Acts = { [Name in CallName]: (...args: Parameters<BrowseCalls[Name]>) => Promise<ReturnType<BrowseCalls[Name]>> }

async function calls(id: number, signal: AbortSignal): Promise<Acts> {
  opened ??= open()
  const found = await opened.catch((error: unknown) => {
    // The next call tries again.
    opened = null
    throw error
  })
  const sql = () => {
    if (found.of === 'sql') return sqlActs(found.server)
    throw new BrowseError('invalid', 'This server has no tables.')
  }
  const keys = () => {
    if (found.of === 'keys') return found.server
    throw new BrowseError('invalid', 'This server has no keys.')
  }
  return {
    schema: () => sql().schema(signal),
    rows: (ask) => sql().rows(ask, signal),
    query: (ask) => sql().query(ask, signal),
    edit: (ask) => sql().edit(ask, signal),
    export: async (ask) => {
      for await (const chunk of sql().export(ask, signal)) await send(id, chunk, signal)
      return null
    },
    import: (ask) => sql().import(ask, contentOf(id, signal), signal),
    keys: (ask) => reopening(keys().keys(ask)),
    key: (ask) => reopening(keys().key(ask)),
    changeKey: (key, change) => reopening(keys().change(key, change)),
  }
}

/** A connection of keys that broke is made again by the next call. */
async function reopening<Value>(act: Promise<Value>): Promise<Value> {
  try {
    return await act
  } catch (error) {
    if (error instanceof BrowseError && error.code === 'unreachable') opened = null
    throw error
  }
}

async function open(): Promise<Opened> {
  if (purpose === null) throw new Error('No server was named.')
  if (purpose.of === 'sql') {
    const load = sqlDrivers[purpose.kind]
    if (load === undefined) throw new BrowseError('invalid', 'This kind of database cannot be looked into.')
    const { driver } = await load()
    return { of: 'sql', server: await driver.open(purpose.connection) }
  }
  const load = keyDrivers[purpose.kind]
  if (load === undefined) throw new BrowseError('invalid', 'This kind of service cannot be looked into.')
  const { driver } = await load()
  return { of: 'keys', server: await driver.open(purpose.connection) }
}

/** What the service has of it, chunk by chunk. */
async function* contentOf(id: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (;;) {
    const next = Promise.withResolvers<Uint8Array | null>()
    receiving.set(id, next.resolve)
    tell({ is: 'more', id })
    const bytes = await next.promise
    // What was cut off is not all of it.
    signal.throwIfAborted()
    if (bytes === null) return
    yield bytes
  }
}

/** One chunk at a time is on its way. */
async function send(id: number, bytes: Buffer, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const taken = Promise.withResolvers<void>()
  taking.set(id, taken.resolve)
  tell({ is: 'chunk', id, bytes })
  await taken.promise
}

function tell(message: FromBrowser): void {
  if (process.connected) process.send?.(message)
}

function crossing(error: unknown): CrossingError {
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error))
  const isOurs = error instanceof BrowseError
  return { code: isOurs ? error.code : null, message, stack, facts: isOurs ? error.facts : {} }
}
