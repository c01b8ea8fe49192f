import type { GitRefusedDelivery } from '@stackquay/contract'
import type { NewAuditEntry, ProjectRow, Store } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'

/**
 * Deliveries that were not signed right, for the person who looks why nothing comes. The first of a project is written down, and what
 * comes within the minute after it is counted into one entry more: who sends without end fills no disk.
 */
export interface RefusedDeliveries {
  /** Never rejects: the refusal stands whether or not it can be written down. */
  record(row: Pick<ProjectRow, 'id' | 'slug'>, reason: string, context: Pick<RequestContext, 'audit'>): Promise<void>
  last(project: string): Promise<GitRefusedDelivery | null>
  /** There is another secret: what was refused before says nothing of it. */
  forget(project: string): void
  /** Writes down what was counted. */
  close(): Promise<void>
}

interface Minute {
  readonly timer: NodeJS.Timeout
  /** Of those that are not written down yet, how many and the last one. */
  counted: number
  entry: NewAuditEntry
  shown: GitRefusedDelivery | null
}

export function createRefusedDeliveries({
  store,
  now,
  onError,
  minuteMs = 60_000,
}: {
  readonly store: Pick<Store, 'transaction' | 'deploys' | 'projects'>
  readonly now: () => Date
  onError(error: unknown, what: string): void
  readonly minuteMs?: number
}): RefusedDeliveries {
  const minutes = new Map<string, Minute>()
  const writes = new Set<Promise<void>>()

  const begin = (project: string, entry: NewAuditEntry, shown: GitRefusedDelivery | null) => {
    const timer = setTimeout(() => end(project, true), minuteMs).unref()
    minutes.set(project, { timer, counted: 0, entry, shown })
  }
  const end = (project: string, goesOn: boolean) => {
    const minute = minutes.get(project)
    if (minute === undefined) return
    clearTimeout(minute.timer)
    minutes.delete(project)
    const { counted, entry, shown } = minute
    if (counted === 0) return
    if (goesOn) begin(project, entry, shown)
    void write(project, { ...entry, changes: { ...(entry.changes as object), furtherRefusals: counted } }, shown)
  }
  const write = (project: string, entry: NewAuditEntry, shown: GitRefusedDelivery | null) => {
    const work = store
      .transaction(async (tx) => {
        await tx.audit.append(entry)
        // It may be gone meanwhile.
        if (shown !== null && (await store.projects.find(project)) !== null) await tx.deploys.putRefused(project, shown)
      })
      .catch((error: unknown) => onError(error, 'writing down a refused delivery'))
      .finally(() => writes.delete(work))
    writes.add(work)
    return work
  }

  return {
    record: async ({ id, slug }, reason, context) => {
      const shown = { at: now().toISOString(), reason }
      const changes = { reason: 'signature_invalid', detail: reason }
      const action = 'project.git.push_received'
      const entry = context.audit({ action, target: slug, project: id, outcome: 'denied', changes })
      const minute = minutes.get(id)
      if (minute === undefined) {
        begin(id, entry, shown)
        await write(id, entry, shown)
      } else Object.assign(minute, { counted: minute.counted + 1, entry, shown })
    },
    last: async (project) => minutes.get(project)?.shown ?? (await store.deploys.refused(project)),
    forget: (project) => {
      const minute = minutes.get(project)
      if (minute !== undefined) minute.shown = null
    },
    close: async () => {
      for (const project of [...minutes.keys()]) end(project, false)
      await Promise.all(writes)
    },
  }
}
