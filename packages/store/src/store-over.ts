import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as breathe } from 'node:timers/promises'
import type { EventRecord } from '@stackquay/contract'
import type { Kysely } from 'kysely'
import { auditChanges, auditQuestions } from './audit.ts'
import type { AuditHead } from './audit-chain.ts'
import type { CheckpointKeeper } from './audit-checkpoint.ts'
import type { Reading, Writing } from './context.ts'
import { deviceReader, deviceWriter } from './devices.ts'
import { eventChanges, eventQuestions } from './events.ts'
import { idempotencyChanges, idempotencyQuestions } from './idempotency.ts'
import { imageChanges, imageQuestions } from './images.ts'
import { instanceReader, instanceWriter } from './instance.ts'
import { keptDataChanges, keptDataQuestions } from './kept-data.ts'
import { reseal, sealedSince } from './key-check.ts'
import { networkChanges, networkQuestions } from './network.ts'
import { operationChanges, operationQuestions } from './operations.ts'
import { portChanges, portQuestions } from './ports.ts'
import { projectUserReader, projectUserWriter } from './project-users.ts'
import { projectChanges, projectQuestions } from './projects.ts'
import { runChanges, runQuestions } from './runs.ts'
import type { Schema } from './schema.ts'
import type { SealingKey } from './sealing.ts'
import { secretChanges, secretQuestions } from './secrets.ts'
import { sessionChanges, sessionQuestions } from './sessions.ts'
import { settingChanges, settingQuestions } from './settings.ts'
import type { ResealCounts, Store, Transaction } from './store.ts'
import { terminalChanges, terminalQuestions } from './terminals.ts'
import { ticketReader, ticketWriter } from './tickets.ts'
import { tokenChanges, tokenQuestions } from './tokens.ts'
import { userChanges, userQuestions } from './users.ts'
import { webhookChanges, webhookQuestions } from './webhooks.ts'

/** A store over two databases: `reading.db` answers what is committed, `writer` takes one transaction at a time. */
export function storeOver(
  reading: Reading,
  writer: Kysely<Schema>,
  file: {
    /** An error a listener threw: nobody waits for it. */
    report(error: unknown): void
    check(): readonly string[]
    close(): void
  },
  checkpoint: { readonly file: string | null; readonly keeper: CheckpointKeeper | null },
): Store {
  const listeners = new Set<(events: readonly EventRecord[]) => void>()
  const leaseListeners = new Set<() => void>()
  const inside = new AsyncLocalStorage<{ open: boolean }>()
  let last: Promise<unknown> = Promise.resolve()
  let closing: Promise<void> | null = null
  let version = 0

  /**
   * After everything that was asked for before, whatever became of it. SQLite answers at once, so transactions in a row
   * would never give the event loop a turn; the next one waits for it, whoever asked for this one does not.
   */
  function inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = last.then(act)
    last = turn.then(
      () => breathe(),
      () => breathe(),
    )
    return turn
  }

  async function transact<T>(
    work: (tx: Transaction, writing: Writing) => Promise<T>,
    key: SealingKey = reading.keys.current,
  ): Promise<T> {
    const events: EventRecord[] = []
    const here = { open: true }
    let head: AuditHead | null = null
    let leasesChanged = false
    let result: T
    try {
      result = await writer.transaction().execute(async (db) => {
        const writing: Writing = { db, key, now: reading.now().toISOString(), events, leasesChanged, head: null }
        const done = await inside.run(here, () => work(changesIn(writing), writing))
        head = writing.head
        leasesChanged = writing.leasesChanged
        return done
      })
    } finally {
      here.open = false
      version += 1
    }
    if (head !== null) checkpoint.keeper?.note(head)
    if (leasesChanged) call(leaseListeners, (listener) => listener())
    if (events.length > 0) call(listeners, (listener) => listener(events))
    return result
  }

  async function replaceKey(
    next: SealingKey,
    work: (tx: Transaction, counts: ResealCounts) => Promise<void>,
  ): Promise<ResealCounts & { readonly settled: boolean }> {
    const { keys } = reading
    // A disk that takes no checkpoint now would take none afterwards either.
    await checkpoint.keeper?.settle()
    const from = keys.current
    keys.admit(next)
    try {
      const counts = await transact(async (tx, { db, now }) => {
        const done = await reseal(db, from, next, now)
        await work(tx, done)
        return done
      }, next)
      keys.change(next)
      const settled = await (checkpoint.keeper?.settle() ?? Promise.resolve()).then(
        () => true,
        (error: unknown) => {
          file.report(error)
          return false
        },
      )
      return { ...counts, settled }
    } catch (error) {
      keys.dismiss(next.id)
      throw error
    }
  }

  /** Before the next transaction begins, so that nobody hears of a later event first. */
  function call<Listener>(all: ReadonlySet<Listener>, tell: (listener: Listener) => void): void {
    for (const listener of [...all]) {
      try {
        tell(listener)
      } catch (error) {
        file.report(error)
      }
    }
  }

  function mayBegin(): void {
    if (closing !== null) throw new Error('The store is closed.')
    if (inside.getStore()?.open === true) {
      throw new Error('A transaction inside a transaction would wait for itself. Hand the outer one on.')
    }
  }

  return {
    projects: projectQuestions(reading),
    operations: operationQuestions(reading),
    secrets: secretQuestions(reading),
    ports: portQuestions(reading),
    keptData: keptDataQuestions(reading),
    projectUsers: projectUserReader(reading),
    images: imageQuestions(reading),
    users: userQuestions(reading),
    sessions: sessionQuestions(reading),
    devices: deviceReader(reading),
    tickets: ticketReader(reading),
    instance: instanceReader(reading),
    tokens: tokenQuestions(reading),
    audit: auditQuestions(reading, checkpoint.file),
    events: eventQuestions(reading),
    idempotency: idempotencyQuestions(reading),
    settings: settingQuestions(reading),
    runs: runQuestions(reading),
    terminals: terminalQuestions(reading),
    webhooks: webhookQuestions(reading),
    network: networkQuestions(reading),

    sealing: {
      keyId: () => reading.keys.current.id,
      since: () => sealedSince(reading.db),
    },

    transaction: async (work) => {
      mayBegin()
      return await inTurn(() => transact(work))
    },
    replaceKey: async (next, work) => {
      mayBegin()
      if (next.key.length !== 32) throw new RangeError('A sealing key has 32 bytes.')
      return await inTurn(() => replaceKey(next, work))
    },
    onCommit: (listener) => {
      // A function of its own, so that the same listener twice is two.
      const own = (events: readonly EventRecord[]) => listener(events)
      listeners.add(own)
      return () => listeners.delete(own)
    },
    onLeases: (listener) => {
      const own = () => listener()
      leaseListeners.add(own)
      return () => leaseListeners.delete(own)
    },
    version: () => version,
    checkIntegrity: async () => file.check(),
    close: () => {
      closing ??= inTurn(async () => {
        await checkpoint.keeper?.close()
        file.close()
      })
      return closing
    },
  }
}

function changesIn(writing: Writing): Transaction {
  return {
    projects: projectChanges(writing),
    operations: operationChanges(writing),
    secrets: secretChanges(writing),
    ports: portChanges(writing),
    keptData: keptDataChanges(writing),
    projectUsers: projectUserWriter(writing),
    images: imageChanges(writing),
    users: userChanges(writing),
    sessions: sessionChanges(writing),
    devices: deviceWriter(writing),
    tickets: ticketWriter(writing),
    instance: instanceWriter(writing),
    tokens: tokenChanges(writing),
    audit: auditChanges(writing),
    events: eventChanges(writing),
    idempotency: idempotencyChanges(writing),
    settings: settingChanges(writing),
    runs: runChanges(writing),
    terminals: terminalChanges(writing),
    webhooks: webhookChanges(writing),
    network: networkChanges(writing),
  }
}
