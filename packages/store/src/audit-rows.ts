import type { AuditEntry } from '@stackquay/contract'
import { canonicalJsonOf } from './canonical-json.ts'
import type { AuditTable } from './schema.ts'

/** Entries that are read at once: a long log does not fill the memory. */
export const auditSlice = 500

export const auditColumns = {
  seq: true,
  id: true,
  time: true,
  actor: true,
  action: true,
  target: true,
  project: true,
  outcome: true,
  changes: true,
  request_id: true,
  operation_id: true,
  source: true,
  ip: true,
  user_agent: true,
  prev_hash: true,
  hash: true,
  search: true,
} as const

export function rowOf(entry: AuditEntry): AuditTable {
  const searched = [entry.actor, entry.action, entry.target, entry.project, entry.requestId, entry.operationId]
  return {
    seq: entry.seq,
    id: entry.id,
    time: entry.time,
    actor: entry.actor,
    action: entry.action,
    target: entry.target,
    project: entry.project,
    outcome: entry.outcome,
    changes: canonicalJsonOf(entry.changes),
    request_id: entry.requestId,
    operation_id: entry.operationId,
    source: entry.source,
    ip: entry.ip,
    user_agent: entry.userAgent,
    prev_hash: entry.prevHash,
    hash: entry.hash,
    search: searched
      .filter((text) => text !== null)
      .join('\n')
      .toLowerCase(),
  }
}

/** Null when the row is unreadable. */
export function entryOf(row: AuditTable): AuditEntry | null {
  try {
    return {
      seq: row.seq,
      id: row.id,
      time: row.time,
      actor: row.actor,
      action: row.action,
      target: row.target,
      project: row.project,
      outcome: row.outcome as AuditEntry['outcome'],
      changes: JSON.parse(row.changes) as unknown,
      requestId: row.request_id,
      operationId: row.operation_id,
      source: row.source as AuditEntry['source'],
      ip: row.ip,
      userAgent: row.user_agent,
      prevHash: row.prev_hash,
      hash: row.hash,
    }
  } catch {
    return null
  }
}

/** A list shows the rest of an unreadable row; `verify` reports that it is broken. */
export function shownEntry(row: AuditTable): AuditEntry {
  return entryOf(row) ?? { ...(entryOf({ ...row, changes: 'null' }) as AuditEntry), changes: null }
}
