import { Secret } from '@stackquay/contract'
import type { Kysely } from 'kysely'
import type { CheckpointKeeper } from './audit-checkpoint.ts'
import type { Reading } from './context.ts'
import type { StoreCopy } from './copy-store.ts'
import { sealedSince } from './key-check.ts'
import type { RunStatement } from './prepared.ts'
import { replaceKey } from './replace-key.ts'
import type { Schema } from './schema.ts'
import { isSigned, seal, sign, unseal } from './sealing.ts'
import type { Store } from './store.ts'
import { readersOf } from './tables.ts'
import { createTransactions } from './transactions.ts'
import { createTurns } from './turns.ts'

/** A store over two databases: `reading.db` answers what is committed, `writer` takes one transaction at a time. */
export function storeOver(
  reading: Reading,
  writer: { readonly db: Kysely<Schema>; readonly run: RunStatement },
  file: {
    /** Gets the errors that no caller waits for. */
    report(error: unknown): void
    check(): readonly string[]
    copyTo(to: string, signal?: AbortSignal): Promise<StoreCopy>
    close(): void
  },
  checkpoint: { readonly file: string | null; readonly keeper: CheckpointKeeper | null },
): Store {
  const { keys } = reading
  const { keeper } = checkpoint
  const transactions = createTransactions(reading, writer, keeper, file.report)
  const inTurn = createTurns()
  let closing: Promise<void> | null = null

  function mayBegin(): void {
    if (closing !== null) throw new Error('The store is closed.')
    if (transactions.isInside()) {
      throw new Error('A transaction inside a transaction would wait for itself. Hand the outer one on.')
    }
  }

  return {
    ...readersOf(reading, checkpoint.file),
    sealing: {
      keyId: () => keys.current.id,
      since: () => sealedSince(reading.db),
      seal: (text, about) => ({ keyId: keys.current.id, sealed: seal(keys.current, text, about) }),
      open: ({ keyId, sealed }, about) => {
        const key = keys.find(keyId)
        const text = key === undefined ? null : unseal(key, sealed, about)
        return text === null ? null : new Secret(text)
      },
      sign: (text, purpose) => ({ keyId: keys.current.id, mac: sign(keys.current, purpose, text) }),
      isSigned: ({ keyId, mac }, text, purpose) => {
        const key = keys.find(keyId)
        return key !== undefined && isSigned(key, purpose, text, mac)
      },
    },
    transaction: async (work) => {
      mayBegin()
      return await inTurn(() => transactions.run(work))
    },
    replaceKey: async (next, work) => {
      mayBegin()
      if (next.key.length !== 32) throw new RangeError('A sealing key has 32 bytes.')
      return await inTurn(() => replaceKey(next, work, { keys, keeper, transactions, report: file.report }))
    },
    onCommit: transactions.onCommit,
    onLeases: transactions.onLeases,
    onRights: transactions.onRights,
    version: transactions.version,
    copyTo: async (to, signal) => {
      mayBegin()
      return await file.copyTo(to, signal)
    },
    checkIntegrity: async () => file.check(),
    close: () => {
      closing ??= inTurn(async () => {
        await keeper?.close()
        file.close()
      })
      return closing
    },
  }
}
