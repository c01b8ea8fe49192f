import { z } from 'zod'

export const HealthCheckSettings = z
  .strictObject({
    path: z
      .string()
      .regex(/^\/[^\s]*$/)
      .max(500),
    timeoutSeconds: z.int().min(1).max(600).describe('How long a start may take.'),
    status: z.string().optional().describe('What counts as healthy; absent: `200-399`.'),
    intervalSeconds: z.int().min(5).max(3600).optional().describe('Absent: 15.'),
    failures: z.int().min(1).max(20).optional().describe('In a row until it is down; absent: 3.'),
  })
  .meta({ id: 'HealthCheck' })
const { path, timeoutSeconds, intervalSeconds, failures } = HealthCheckSettings.shape
const HealthStatus = z
  .union([z.int().min(100).max(599), z.string().min(3).max(200)])
  .describe('A status, or a text such as `200-299, 304`.')
export const HealthCheckPatch = z
  .strictObject({
    path: path.optional(),
    timeoutSeconds: timeoutSeconds.optional(),
    status: HealthStatus.nullish(),
    intervalSeconds: intervalSeconds.nullable(),
    failures: failures.nullable(),
  })
  .meta({ id: 'HealthCheckPatch' })

export const HealthCheckTry = z
  .object({
    ok: z.boolean().describe('Whether the check passed.'),
    status: z.int().nullable().describe('What was answered.'),
    milliseconds: z.int().describe('Until the answer.'),
    reason: z.string().nullable().describe('Why it failed.'),
    location: z.string().nullable().describe('Where a redirect leads.'),
    text: z.string().nullable().describe('Beginning of the answer; null when it is no text.'),
  })
  .meta({ id: 'HealthCheckTry' })
export type HealthCheckTry = z.infer<typeof HealthCheckTry>
