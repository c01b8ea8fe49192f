import type { NewAuditEntry, Store } from '@stackquay/store'

/**
 * Records refused changes. One caller's same refusal is written out five times a minute; further ones are counted and
 * written as one entry when the minute is over, so that nothing is lost and nobody can fill the disk with it.
 */
export interface DeniedLog {
  /** Resolves when it is written, or counted; never rejects. */
  record(entry: NewAuditEntry): Promise<void>
  /** Writes the counts of the running minute and waits for all writes. */
  close(): Promise<void>
}

export interface DeniedLogDeps {
  readonly store: Pick<Store, 'transaction'>
  readonly log: { error(details: object, message: string): void }
}

export function createDeniedLog({ store, log }: DeniedLogDeps): DeniedLog {
  const counts = new Map<string, { seen: number; last: NewAuditEntry }>()
  const writes = new Set<Promise<void>>()
  const minute = setInterval(summarize, 60_000)
  minute.unref()

  return {
    async record(entry) {
      const own = keyOf(entry)
      const key = counts.has(own) || counts.size < maxCallers ? own : 'others'
      const count = counts.get(key) ?? { seen: 0, last: entry }
      counts.set(key, { seen: count.seen + 1, last: entry })
      if (count.seen < writtenOut) await write(entry)
    },
    async close() {
      clearInterval(minute)
      summarize()
      while (writes.size > 0) await Promise.all(writes)
    },
  }

  function summarize(): void {
    for (const { seen, last } of counts.values()) {
      const more = seen - writtenOut
      if (more > 0) void write({ ...last, changes: { ...(last.changes as object | null), furtherRefusals: more } })
    }
    counts.clear()
  }

  function write(entry: NewAuditEntry): Promise<void> {
    const work = append(entry).finally(() => writes.delete(work))
    writes.add(work)
    return work
  }

  /** The refusal stands whether or not it can be recorded. */
  async function append(entry: NewAuditEntry): Promise<void> {
    try {
      await store.transaction((tx) => tx.audit.append(entry))
    } catch (error) {
      log.error({ err: error }, 'A refused change could not be recorded in the audit log.')
    }
  }
}

const writtenOut = 5
const maxCallers = 1000

function keyOf({ actor, action, ip, changes }: NewAuditEntry): string {
  // A password that is wrong and a try that is not even looked at are different refusals.
  return `${actor} ${action} ${ip} ${(changes as { readonly reason?: string } | null)?.reason ?? ''}`
}
