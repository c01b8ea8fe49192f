import { z } from 'zod'
import { operation } from '../operation.ts'
import { Cursor, Flag, LogLimit, textOf, WorkloadName } from '../schemas/common.ts'
import { LogPage, logLevels, Metrics, metricRangeNames, Stats } from '../schemas/observe.ts'
import { id, read } from './of-project.ts'

const logFilters = {
  workload: WorkloadName.optional().describe('One workload; without it all, in the order of time.'),
  since: z.iso.datetime().optional().describe('This time and later.'),
  until: z.iso.datetime().optional().describe('This time and earlier.'),
  q: z.string().max(200).optional().describe('Only lines that contain this text, in any case.'),
  regex: Flag.optional().describe('`q` is a regular expression (JavaScript’s), searched for at most a few seconds.'),
  level: z.enum(logLevels).optional().describe('Only lines of this level and worse, read from their text.'),
}

export const getProjectLogs = operation({
  id: 'getProjectLogs',
  method: 'GET',
  path: '/projects/{id}/logs',
  tag: 'Logs',
  summary: 'Read log lines, oldest first',
  description: 'Follow `nextCursor` for later lines.',
  access: read,
  params: id,
  query: z.strictObject({ ...logFilters, limit: LogLimit, cursor: Cursor }),
  results: { 200: LogPage },
  problems: ['invalid_request', 'deadline_exceeded'],
})

export const downloadLogs = operation({
  id: 'downloadLogs',
  method: 'GET',
  path: '/projects/{id}/logs/download',
  tag: 'Logs',
  summary: 'All kept log lines that match, as a file, oldest first',
  description: '`text` is one line a line with time and workload in front; `jsonl` is one LogLine as JSON a line.',
  access: read,
  params: id,
  query: z.strictObject({
    ...logFilters,
    format: z.enum(['text', 'jsonl']).default('text').describe('Form of the lines.'),
  }),
  results: { 200: textOf('LogText', 'Log lines, one a line, in the requested form.') },
  resultType: ['text/plain', 'application/jsonl'],
  ticket: 'download',
  problems: ['invalid_request'],
})

export const watchProjectLogs = operation({
  id: 'watchProjectLogs',
  method: 'GET',
  path: '/projects/{id}/logs/ws',
  tag: 'Logs',
  summary: 'Follow log lines as WebSocket frames',
  description: 'Sends earlier lines, then new ones as they come.',
  access: read,
  params: id,
  query: z.strictObject({
    ...logFilters,
    tail: LogLimit.describe('How many earlier lines; 200 by default.'),
    cursor: Cursor.describe('Continue after this line instead.'),
  }),
  results: { 101: null },
  stream: 'websocket',
  ticket: 'stream',
  problems: ['invalid_request'],
})

export const getProjectStats = operation({
  id: 'getProjectStats',
  method: 'GET',
  path: '/projects/{id}/stats',
  tag: 'Stats',
  summary: 'CPU, memory and disk of each running workload',
  description: 'Workloads that do not run are left out.',
  access: read,
  params: id,
  results: { 200: Stats },
  problems: [],
})

export const watchProjectStats = operation({
  id: 'watchProjectStats',
  method: 'GET',
  path: '/projects/{id}/stats/ws',
  tag: 'Stats',
  summary: 'Statistics every two seconds as WebSocket frames',
  description: 'Each frame holds every running workload.',
  access: read,
  params: id,
  results: { 101: null },
  stream: 'websocket',
  ticket: 'stream',
  problems: [],
})

export const getProjectMetrics = operation({
  id: 'getProjectMetrics',
  method: 'GET',
  path: '/projects/{id}/metrics',
  tag: 'Stats',
  summary: 'What workloads used, and requests, over time',
  description:
    'Each list has one value a step. Steps: a minute (1h, 24h), 5 minutes (7d), an hour (30d), 6 hours (1y).',
  access: read,
  params: id,
  query: z.strictObject({
    range: z.enum(metricRangeNames).default('24h').describe('How far back.'),
    workload: WorkloadName.optional().describe('Only this workload.'),
  }),
  results: { 200: Metrics },
  problems: ['invalid_request', 'unavailable'],
})

export const getMetrics = operation({
  id: 'getMetrics',
  method: 'GET',
  path: '/metrics',
  tag: 'Stats',
  summary: 'Metrics of the service and all projects, for Prometheus',
  description: 'OpenMetrics where `Accept` asks for it, else the text format of Prometheus. Also at `/metrics`.',
  access: { kind: 'scope', scope: 'read', instance: true },
  results: { 200: textOf('MetricsText', 'Metrics, one a line.') },
  resultType: ['text/plain', 'application/openmetrics-text'],
  ticket: 'download',
  problems: [],
})
