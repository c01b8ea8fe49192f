import type { Terminal } from '@stackquay/contract'
import type { CommandRef, CommandState } from '@stackquay/engine-api'
import { byTheService, type NewAuditEntry, type ProjectRow, type TerminalRow } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'

export function refOf({ id, project }: TerminalRow): CommandRef {
  return { project, id }
}

export function changed({ id, project }: TerminalRow, state: Terminal['state']) {
  return { type: 'terminal.changed', project, data: { id, project, state } } as const
}

export function closedBy(
  context: RequestContext,
  { id, workload, title }: TerminalRow,
  project: ProjectRow,
): NewAuditEntry {
  const changes = { before: { id, workload, title } }
  return context.audit({ action: 'terminal.close', target: project.slug, project: project.id, changes })
}

/** Nobody closed it: it ended, was idle for long, or was lost with the machine. */
export function closedByItself(row: TerminalRow, slug: string, cause: Terminal['cause']): NewAuditEntry {
  return byTheService({
    action: 'terminal.close',
    target: slug,
    project: row.project,
    changes: { before: { id: row.id, workload: row.workload, title: row.title }, after: { cause } },
  })
}

export function terminalView(
  row: TerminalRow,
  state: CommandState | null,
  now: { readonly viewers: number; readonly isStarting: boolean },
): Terminal {
  const isOpen = row.endedAt === null && (state?.state === 'running' || now.isStarting)
  return {
    id: row.id,
    project: row.project,
    workload: row.workload,
    title: row.title,
    state: isOpen ? 'running' : 'ended',
    cols: state?.size?.cols ?? 80,
    rows: state?.size?.rows ?? 24,
    viewers: now.viewers,
    exitCode: row.exitCode ?? state?.exit?.code ?? null,
    signal: row.signal ?? state?.exit?.signal ?? null,
    cause: row.cause ?? state?.cause ?? (isOpen ? null : 'lost'),
    actor: row.actor,
    createdAt: row.createdAt,
    endedAt: row.endedAt ?? state?.endedAt ?? null,
    output: state?.output ?? { first: 0, end: 0 },
  }
}

/** How long a terminal has to end. */
export const endingMs = 15_000
