import { AsyncLocalStorage } from 'node:async_hooks'
import type { EventRecord } from '@stackquay/contract'
import type { Kysely } from 'kysely'
import type { CheckpointKeeper } from './audit-checkpoint.ts'
import type { Reading, Writing } from './context.ts'
import { createListeners } from './listeners.ts'
import type { RunStatement } from './prepared.ts'
import type { Schema } from './schema.ts'
import type { SealingKey } from './sealing.ts'
import type { Store, Transaction } from './store.ts'
import { writersOf } from './tables.ts'

export interface Transactions extends Pick<Store, 'onCommit' | 'onLeases' | 'onRights' | 'version'> {
  /** One transaction, whose rows are sealed with `key`. The caller makes sure that no other one is open. */
  run<T>(work: (tx: Transaction, writing: Writing) => Promise<T>, key?: SealingKey): Promise<T>
  /** Whether the caller is the work of an open transaction. */
  isInside(): boolean
}

export function createTransactions(
  reading: Reading,
  writer: { readonly db: Kysely<Schema>; readonly run: RunStatement },
  keeper: CheckpointKeeper | null,
  report: (error: unknown) => void,
): Transactions {
  const commits = createListeners<readonly EventRecord[]>(report)
  const leases = createListeners<void>(report)
  const rights = createListeners<void>(report)
  const inside = new AsyncLocalStorage<{ open: boolean }>()
  let version = 0

  async function execute<T>(
    key: SealingKey,
    work: (tx: Transaction, writing: Writing) => Promise<T>,
  ): Promise<{ readonly result: T; readonly writing: Writing }> {
    const here = { open: true }
    try {
      return await writer.db.transaction().execute(async (db) => {
        const now = reading.now().toISOString()
        const own = { events: [], leasesChanged: false, rightsChanged: false, head: null }
        const writing: Writing = { db, run: writer.run, key, sessionLimits: reading.sessionLimits, now, ...own }
        return { result: await inside.run(here, () => work(writersOf(writing), writing)), writing }
      })
    } finally {
      here.open = false
      version += 1
    }
  }

  return {
    run: async (work, key = reading.keys.current) => {
      const { result, writing } = await execute(key, work)
      if (writing.head !== null) keeper?.note(writing.head)
      // Before the next transaction begins, so that no listener hears of a later event first.
      if (writing.leasesChanged) leases.call()
      if (writing.rightsChanged) rights.call()
      if (writing.events.length > 0) commits.call(writing.events)
      return result
    },
    isInside: () => inside.getStore()?.open === true,
    onCommit: commits.add,
    onLeases: leases.add,
    onRights: rights.add,
    version: () => version,
  }
}
