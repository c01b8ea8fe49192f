import { z } from 'zod'
import { operation } from '../operation.ts'
import { Cursor, Flag, Limit, WorkloadName } from '../schemas/common.ts'
import { LogSearch, LogStats } from '../schemas/log-stats.ts'
import { logLevels } from '../schemas/observe.ts'
import { id, read } from './of-project.ts'

const times = {
  since: z.iso.datetime().optional().describe('This time and later.'),
  until: z.iso.datetime().optional().describe('This time and earlier.'),
}

export const getLogStats = operation({
  id: 'getLogStats',
  method: 'GET',
  path: '/projects/{id}/logs/stats',
  tag: 'Logs',
  summary: 'How many lines of each level over time, and the most frequent errors',
  description: 'The last 24 hours unless told, at most 400 days.',
  access: read,
  params: id,
  query: z.strictObject({ ...times, workload: WorkloadName.optional().describe('Only this workload.') }),
  results: { 200: LogStats },
  problems: ['invalid_request', 'unavailable'],
})

export const searchLogs = operation({
  id: 'searchLogs',
  method: 'GET',
  path: '/logs/search',
  tag: 'Logs',
  summary: 'Search the logs of all projects that the caller may read',
  description: 'Newest first, for a few seconds a page.',
  access: { kind: 'scope', scope: 'read' },
  query: z.strictObject({
    ...times,
    q: z.string().min(1).max(200).describe('Text that lines contain, in any case.'),
    regex: Flag.optional().describe('`q` is a regular expression.'),
    level: z.enum(logLevels).optional().describe('This level and worse.'),
    projects: z.string().max(4000).optional().describe('Only these: ids or slugs with commas between.'),
    limit: Limit,
    cursor: Cursor,
  }),
  results: { 200: LogSearch },
  problems: ['not_found', 'invalid_request', 'deadline_exceeded', 'unavailable'],
})
