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
