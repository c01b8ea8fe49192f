import { type AuditEntry, ProblemError } from '@stackquay/contract'
import type { AuditFilters, Store } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import { exportTexts, exportTypes } from './export.ts'

export interface AuditDeps {
  readonly store: Pick<Store, 'audit' | 'projects' | 'transaction'>
  readonly now?: () => number
}

export function auditHandlers({ store, now = Date.now }: AuditDeps) {
  return {
    async listAudit({ query }) {
      const { limit = 50, cursor, ...filters } = query
      if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
        throw new ProblemError('invalid_request', 'The cursor is not one of this list.', {
          hint: 'Send "nextCursor" as it was answered.',
        })
      }
      const rows = await store.audit.list({
        ...(await filtersOf(filters)),
        ...(cursor === undefined ? {} : { cursor }),
        limit: limit + 1,
      })
      const items = rows.slice(0, limit)
      return {
        status: 200,
        body: { items: items.map(entryView), nextCursor: rows.length > limit ? String(items.at(-1)!.seq) : null },
      }
    },

    async verifyAudit() {
      const state = await store.audit.verify()
      return { status: 200, body: { ...state, checkedAt: new Date(now()).toISOString() } }
    },

    async exportAudit({ query }, context) {
      const { format, ...filters } = query
      const wanted = await filtersOf(filters)
      const slices = store.audit.slices(wanted)
      await store.transaction((tx) =>
        tx.audit.append(context.audit({ action: 'audit.export', changes: { format, ...wanted } })),
      )
      const day = new Date(now()).toISOString().slice(0, 10)
      return {
        status: 200,
        headers: {
          'content-type': exportTypes[format],
          'content-disposition': `attachment; filename="stackquay-audit-${day}.${format}"`,
        },
        stream: exportTexts(slices, format),
      }
    },
  } satisfies Partial<Handlers>

  /** A slug stands for its project; what is no project any more is looked for by its id. */
  async function filtersOf({ project, ...filters }: Filters): Promise<AuditFilters> {
    return defined({
      ...filters,
      project: project && ((await store.projects.find(project))?.id ?? project),
    })
  }
}

type Filters = { readonly [K in keyof AuditFilters]: AuditFilters[K] | undefined }

function entryView(entry: AuditEntry): AuditEntry {
  const { seq, id, time, actor, action, target, project, outcome, changes } = entry
  const { requestId, operationId, source, ip, userAgent, prevHash, hash } = entry
  return {
    seq,
    id,
    time,
    actor,
    action,
    target,
    project,
    outcome,
    changes,
    requestId,
    operationId,
    source,
    ip,
    userAgent,
    prevHash,
    hash,
  }
}

function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
