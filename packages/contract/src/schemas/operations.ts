import { z } from 'zod'
import { ProblemSchema, Time } from './common.ts'

export const operationKinds = [
  'create',
  'start',
  'stop',
  'restart',
  'update',
  'delete',
  'duplicate',
  'reconcile',
  'backup',
  'restore',
  'verify',
  'import',
  'copy-backup',
  'fetch-backup',
  'delete-copy',
  'snapshot',
  'restore-snapshot',
  'clone',
  'checkpoint',
  'restore-checkpoint',
  'reset',
  'pull',
  'git',
  'deploy',
  'sleep',
  'wake',
] as const
export const operationStates = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const

export const OperationStep = z
  .object({
    id: z.string(),
    title: z.string(),
    state: z.enum(['pending', 'running', 'succeeded', 'failed', 'cancelled', 'skipped']),
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
    /** Last lines of its output. */
    output: z.array(z.string()),
  })
  .meta({ id: 'OperationStep' })
export type OperationStep = z.infer<typeof OperationStep>

export const OperationRecord = z
  .object({
    id: z.string().describe('op_…'),
    kind: z.enum(operationKinds),
    project: z
      .string()
      .nullable()
      .describe('Id of the project; null for an operation of the instance, such as a copy to a backup target.'),
    state: z.enum(operationStates),
    steps: z.array(OperationStep),
    progress: z.number().min(0).max(1),
    error: ProblemSchema.nullable().describe('Why it failed: step, reason, hint and the last log lines.'),
    actor: z.string().describe('Who asked first.'),
    requestedBy: z
      .array(
        z.object({ actor: z.string(), requestId: z.string().nullable(), at: Time }).meta({ id: 'OperationRequest' }),
      )
      .describe('All requests that it carries out, oldest first: those that came while it waited were merged into it.'),
    generation: z
      .int()
      .nullable()
      .describe('The generation of the project’s settings that it carries out; null until it begins.'),
    createdAt: Time,
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
  })
  .meta({ id: 'Operation' })
export type OperationRecord = z.infer<typeof OperationRecord>

export const PlanStep = z
  .object({ title: z.string(), workload: z.string().nullable(), because: z.array(z.string()) })
  .meta({ id: 'PlanStep' })
export const Plan = z
  .object({
    plan: z
      .object({
        steps: z.array(PlanStep),
        starts: z.array(z.string()),
        restarts: z.array(z.string()),
        stops: z.array(z.string()),
        keepsRunning: z.array(z.string()),
        deletesData: z.array(z.string()).describe('Names of the data that is deleted.'),
        trashUntil: Time.nullable().describe(
          'Until when it lies in the trash and uses disk as before; null where nothing does.',
        ),
        changes: z
          .array(
            z
              .object({ field: z.string(), before: z.unknown().nullable(), after: z.unknown().nullable() })
              .meta({ id: 'PlanChange' }),
          )
          .describe('What becomes different in the project’s settings; secrets by their version.'),
        warnings: z.array(z.string()),
        after: z
          .string()
          .nullable()
          .describe(
            'The operation that runs or waits now. The plan stands on the state that it is to reach. Null: none.',
          ),
        exact: z.boolean().describe('Whether it stands on what is there now: false while something runs or waits.'),
      })
      .meta({ id: 'PlanDetails' }),
  })
  .meta({ id: 'Plan' })
export type Plan = z.infer<typeof Plan>
