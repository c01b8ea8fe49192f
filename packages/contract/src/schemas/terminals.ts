import { z } from 'zod'
import { OutputRange, Time, WorkloadName } from './common.ts'

export const TerminalId = z.string().min(1).max(60).describe('Id of a terminal: `term_…`.')
export const TerminalSize = { cols: z.int().min(2).max(500), rows: z.int().min(1).max(300) }

const Place = WorkloadName.describe(
  'Runtime, database (`postgresql-main`) or service whose environment it gets; default: the first runtime.',
)

export const TerminalCreate = z
  .strictObject({
    workload: Place.optional(),
    cols: TerminalSize.cols.default(80),
    rows: TerminalSize.rows.default(24),
    command: z.array(z.string().max(10_000)).min(1).max(200).optional().describe('argv to run in place of a shell.'),
  })
  .meta({ id: 'TerminalCreate' })

export const Terminal = z
  .object({
    id: TerminalId,
    project: z.string(),
    workload: z.string().nullable(),
    title: z.string(),
    state: z.enum(['running', 'ended']),
    cols: z.int(),
    rows: z.int(),
    viewers: z.int().describe('How many are connected now.'),
    exitCode: z.int().nullable(),
    signal: z.string().nullable(),
    cause: z.enum(['exited', 'cancelled', 'timeout', 'idle', 'lost']).nullable().describe('Why it ended.'),
    actor: z.string(),
    createdAt: Time,
    endedAt: Time.nullable(),
    output: OutputRange.describe('Byte offsets of its kept output: the scrollback.'),
  })
  .meta({ id: 'Terminal' })
export type Terminal = z.infer<typeof Terminal>

export const ExecBody = z.strictObject({
  argv: z.array(z.string().max(100_000)).min(1).max(1000).describe('A program and its arguments; no shell reads them.'),
  workload: Place.optional(),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
    .optional()
    .describe('Further variables.'),
})
export const ExecRequest = ExecBody.extend({
  stdin: z.string().optional().describe('Text for its standard input; empty by default.'),
}).meta({ id: 'ExecRequest' })
