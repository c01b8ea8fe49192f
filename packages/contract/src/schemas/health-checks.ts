import { z } from 'zod'

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
