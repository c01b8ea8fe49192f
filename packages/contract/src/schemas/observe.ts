import { z } from 'zod'
import { Time } from './common.ts'

/** The worst first. */
export const logLevels = ['error', 'warning', 'info', 'debug'] as const

export const LogLine = z
  .object({
    workload: z.string(),
    time: Time,
    stream: z.enum(['stdout', 'stderr']),
    text: z.string(),
    level: z.enum(logLevels).nullable().describe('Read from its text; null when it has none.'),
    cursor: z.string(),
  })
  .meta({ id: 'LogLine' })
export type LogLine = z.infer<typeof LogLine>
export const LogPage = z.object({ items: z.array(LogLine), nextCursor: z.string().nullable() }).meta({ id: 'LogPage' })

export const WorkloadStats = z
  .object({
    workload: z.string(),
    time: Time,
    cpu: z.number().nullable().describe('Share of one core: 1 is one full core.'),
    memoryBytes: z.int(),
    processes: z.int(),
    readBytes: z.int().nullable(),
    writtenBytes: z.int().nullable(),
  })
  .meta({ id: 'WorkloadStats' })
export const Stats = z
  .object({
    items: z.array(WorkloadStats),
    disk: z.object({ sourceBytes: z.int().nullable(), dataBytes: z.int() }).meta({ id: 'DiskUsage' }).nullable(),
  })
  .meta({ id: 'Stats' })
export type Stats = z.infer<typeof Stats>

/** One value a step, the oldest first; null where nothing was measured. As a whole null: never measured in this time. */
const series = (value: z.ZodNumber, text: string) => z.array(value.nullable()).nullable().describe(text)

export const WorkloadMetrics = z
  .object({
    workload: z.string(),
    cpu: series(z.number(), 'Share of one core, on average.'),
    cpuMax: series(z.number(), 'The busiest minute.'),
    memoryBytes: series(z.number(), 'On average.'),
    memoryMaxBytes: series(z.number(), 'The largest.'),
    readBytes: series(z.number(), 'From disks, in each step.'),
    writtenBytes: series(z.number(), 'To disks.'),
    receivedBytes: series(z.number(), 'From networks; of containers alone.'),
    sentBytes: series(z.number(), 'To networks.'),
  })
  .meta({ id: 'WorkloadMetrics' })
export type WorkloadMetrics = z.infer<typeof WorkloadMetrics>
export const RequestMetrics = z
  .object({
    requests: series(z.number(), 'Through the proxy, in each step.'),
    errors: series(z.number(), 'Those answered with 5xx.'),
    seconds: series(z.number(), 'How long a request took, on average.'),
  })
  .meta({ id: 'RequestMetrics' })
export const Metrics = z
  .object({
    from: Time.describe('Where the first step begins.'),
    stepSeconds: z.int(),
    items: z.array(WorkloadMetrics),
    requests: RequestMetrics.nullable().describe('Null when one workload was asked for.'),
  })
  .meta({ id: 'Metrics' })
export type Metrics = z.infer<typeof Metrics>
export const metricRangeNames = ['1h', '24h', '7d', '30d', '1y'] as const

export const Credentials = z
  .object({
    host: z.string(),
    port: z.int(),
    hostPort: z.int(),
    database: z.string(),
    username: z.string(),
    password: z.string(),
    url: z.string(),
  })
  .meta({ id: 'DatabaseCredentials' })
