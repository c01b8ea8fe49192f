import { z } from 'zod'
import { operation } from '../operation.ts'
import { Cursor, Limit, ProjectRef, pageOf, Seq, textOf } from '../schemas/common.ts'
import { engineNames } from '../schemas/project.ts'
import { AuditEntry, AuditState, Diagnostics, Health, Orphan, RuntimesView, ServicesView } from '../schemas/system.ts'

export const getHealth = operation({
  id: 'getHealth',
  method: 'GET',
  path: '/health',
  tag: 'System',
  summary: 'Health of the service',
  description: 'Callers with credentials also learn how projects are isolated.',
  access: { kind: 'public', known: true },
  results: { 200: Health, 503: Health },
  problems: [],
})

export const getOpenapi = operation({
  id: 'getOpenapi',
  method: 'GET',
  path: '/openapi.json',
  tag: 'System',
  summary: 'This description as an OpenAPI 3.1 document',
  description: 'Compact, with an ETag; compressed for clients that accept it.',
  access: { kind: 'public' },
  results: { 200: z.record(z.string(), z.unknown()).meta({ id: 'OpenapiDocument' }) },
  problems: [],
})

export const getDiagnostics = operation({
  id: 'getDiagnostics',
  method: 'GET',
  path: '/system/diagnostics',
  tag: 'System',
  summary: 'Checks of the set-up, each with what to do',
  description: 'A check that is not `ok` has a hint.',
  access: { kind: 'scope', scope: 'admin', instance: true },
  results: { 200: Diagnostics },
  problems: [],
})

export const deleteOrphan = operation({
  id: 'deleteOrphan',
  method: 'DELETE',
  path: '/system/orphans/{orphan}',
  tag: 'System',
  summary: 'Remove what an engine holds for a project that is gone',
  description: 'Ends and removes its workloads and deletes their logs. Its data is deleted only with `data`.',
  access: { kind: 'scope', scope: 'admin', instance: true },
  params: z.object({
    orphan: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,99}$/)
      .describe('`id` of an orphan in the diagnostics.'),
  }),
  query: z.strictObject({
    data: z.enum(['keep', 'delete']).describe('delete also deletes databases and kept data, for good.'),
  }),
  results: { 200: Orphan },
  problems: ['invalid_request', 'conflict', 'engine_unavailable'],
  audit: 'system.orphan.delete',
  removes: 'data',
})

const OfEngine = z.strictObject({
  engine: z.enum(engineNames).optional().describe('Offers of this engine. Default: the engine of new projects.'),
})

export const listRuntimes = operation({
  id: 'listRuntimes',
  method: 'GET',
  path: '/runtimes',
  tag: 'Catalogue',
  summary: 'Runtimes with versions, presets and settings; templates',
  description: 'What cannot be used on this machine is listed with the reason.',
  access: { kind: 'scope', scope: 'read' },
  query: OfEngine,
  results: { 200: RuntimesView },
  problems: [],
})

export const listServices = operation({
  id: 'listServices',
  method: 'GET',
  path: '/services',
  tag: 'Catalogue',
  summary: 'Services and databases with versions and settings',
  description: 'What cannot be used on this machine is listed with the reason.',
  access: { kind: 'scope', scope: 'read' },
  query: OfEngine,
  results: { 200: ServicesView },
  problems: [],
})

const auditFilters = {
  q: z
    .string()
    .max(200)
    .optional()
    .describe('Part of the actor, action, target, project, request id or operation id, in any case.'),
  actor: z
    .string()
    .max(200)
    .optional()
    .describe('`ada` finds also what her tokens did; `ada (token: ci)` that token’s.'),
  action: z.string().max(100).optional().describe('`project.start`.'),
  project: z.string().max(60).optional().describe('Id or slug.'),
  outcome: z.enum(['success', 'failure', 'denied']).optional().describe('Only entries with this outcome.'),
  since: z.iso.datetime().optional().describe('This time and later.'),
  until: z.iso.datetime().optional().describe('This time and earlier.'),
}

export const listAudit = operation({
  id: 'listAudit',
  method: 'GET',
  path: '/audit',
  tag: 'Audit',
  summary: 'Who changed what, newest first',
  description: 'Refusals of changes are listed as well as changes.',
  access: { kind: 'scope', scope: 'admin', instance: true },
  query: z.strictObject({ limit: Limit, cursor: Cursor, ...auditFilters }),
  results: { 200: pageOf('AuditPage', AuditEntry) },
  problems: ['invalid_request'],
})

export const verifyAudit = operation({
  id: 'verifyAudit',
  method: 'GET',
  path: '/audit/verify',
  tag: 'Audit',
  summary: 'Checks the chain of hashes over all entries',
  access: { kind: 'scope', scope: 'admin', instance: true },
  description:
    'Follows the hashes from the first entry to the last, and compares with the signed head in the database and the signed ' +
    'checkpoint beside it, so that entries cut off at the end and an older copy of the database are noticed too.',
  results: { 200: AuditState },
  problems: [],
})

export const exportAudit = operation({
  id: 'exportAudit',
  method: 'GET',
  path: '/audit/export',
  tag: 'Audit',
  summary: 'The audit log as a file, oldest first',
  description:
    'JSON Lines hold each entry as the list answers it, so that its hash can be computed again. In CSV (RFC 4180), cells ' +
    'that a spreadsheet would take for a formula begin with an apostrophe.',
  access: { kind: 'scope', scope: 'admin', instance: true },
  query: z.strictObject({
    format: z.enum(['jsonl', 'csv']).default('jsonl').describe('Form of the file.'),
    ...auditFilters,
  }),
  results: { 200: textOf('AuditExport', 'Entries of the audit log, one a line.') },
  resultType: ['application/jsonl', 'text/csv'],
  ticket: 'download',
  problems: [],
  audit: 'audit.export',
})

const EventsQuery = z.strictObject({
  after: Seq.describe('Only events after this sequence number.'),
  project: ProjectRef.optional().describe('Only events of this project.'),
  types: z
    .string()
    .max(500)
    .optional()
    .describe('Only these types, with commas between: `run.changed,project.status`. `run.*` is all of runs.'),
})

export const streamEvents = operation({
  id: 'streamEvents',
  method: 'GET',
  path: '/events',
  tag: 'Events',
  summary: 'Events as server-sent events',
  description: 'Resume with Last-Event-ID or ?after=. A token restricted to projects receives the events of those.',
  access: { kind: 'scope', scope: 'read' },
  query: EventsQuery,
  results: { 200: textOf('EventStream', 'Server-sent events: `id` is the sequence number, `data` an event as JSON.') },
  resultType: 'text/event-stream',
  stream: 'sse',
  ticket: 'stream',
  problems: ['too_old', 'invalid_request'],
})

export const watchEvents = operation({
  id: 'watchEvents',
  method: 'GET',
  path: '/events/ws',
  tag: 'Events',
  summary: 'Events as WebSocket frames',
  description: 'The same events as over server-sent events; `after` resumes.',
  access: { kind: 'scope', scope: 'read' },
  query: EventsQuery,
  results: { 101: null },
  stream: 'websocket',
  ticket: 'stream',
  problems: ['too_old', 'invalid_request'],
})
