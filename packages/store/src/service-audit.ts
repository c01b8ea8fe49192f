import type { NewAuditEntry } from './model/audit.ts'

/** An audit entry of an act of the service itself. It has no request, operation or address. */
export function byTheService(
  entry: Pick<NewAuditEntry, 'action'> & Partial<Pick<NewAuditEntry, 'target' | 'project' | 'outcome' | 'changes'>>,
): NewAuditEntry {
  return {
    actor: 'system',
    target: null,
    project: null,
    outcome: 'success',
    changes: null,
    requestId: null,
    operationId: null,
    source: 'system',
    ip: null,
    userAgent: null,
    ...entry,
  }
}
