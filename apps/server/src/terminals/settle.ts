import type { Commands } from '@stackquay/engine-api'
import type { NewAuditEntry, Store, TerminalRow } from '@stackquay/store'
import { changed, closedByItself, refOf } from './terminal-view.ts'

/** Learns how terminals ended, and writes it down once. */
export interface Settling {
  /** Of a terminal that is known as open; does nothing while it runs. */
  settle(row: TerminalRow): Promise<void>
  /** Waits for what is being settled of it. */
  settled(id: string): Promise<void>
  /** Leaves the terminal alone while `work` starts it: it is stored, and does not run yet. */
  whileStarting<T>(id: string, work: () => Promise<T>): Promise<T>
  isStarting(id: string): boolean
  /** Leaves the terminal to `work`, which ends it and writes that down itself. */
  whileEnding<T>(id: string, work: () => Promise<T>): Promise<T>
  /** A person ends it: what the audit log is to say when it has ended. The first one counts. */
  closedBy(id: string, entry: () => NewAuditEntry): void
  close(): Promise<void>
}

export function createSettling(store: Store, commands: Commands, now: () => Date): Settling {
  const underWay = new Map<string, Promise<void>>()
  const starting = new Set<string>()
  /** Entries of those that a person is ending; null for those that are written down elsewhere. */
  const closers = new Map<string, NewAuditEntry | null>()

  const settleOnce = async ({ id }: TerminalRow) => {
    const row = await store.terminals.find(id)
    if (row === null || row.endedAt !== null || closers.get(id) === null || starting.has(id)) return
    const state = await commands.find(refOf(row))
    if (state?.state === 'running') return
    const end = {
      exitCode: state?.exit?.code ?? null,
      signal: state?.exit?.signal ?? null,
      cause: state?.cause ?? ('lost' as const),
      at: state?.endedAt ?? now().toISOString(),
    }
    const slug = (await store.projects.find(row.project))?.slug ?? row.project
    await store.transaction(async (tx) => {
      await tx.terminals.ended(id, end)
      await tx.audit.append(closers.get(id) ?? closedByItself(row, slug, end.cause))
      await tx.events.append(changed(row, 'ended'))
    })
    closers.delete(id)
  }

  return {
    settle: (row) => {
      const known = underWay.get(row.id)
      if (known !== undefined) return known
      const mine = settleOnce(row).finally(() => underWay.delete(row.id))
      underWay.set(row.id, mine)
      return mine
    },
    settled: async (id) => underWay.get(id),
    whileStarting: (id, work) => {
      starting.add(id)
      return work().finally(() => starting.delete(id))
    },
    isStarting: (id) => starting.has(id),
    whileEnding: (id, work) => {
      closers.set(id, null)
      return work().finally(() => closers.delete(id))
    },
    closedBy: (id, entry) => {
      if (!closers.has(id)) closers.set(id, entry())
    },
    close: async () => {
      await Promise.allSettled(underWay.values())
    },
  }
}
