import { z } from 'zod'

export const Time = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC.' })
export const ProjectRef = z.string().min(1).max(60).describe('Id (prj_…) or slug of a project.')
export const WorkloadName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,60}$/)

/** A query flag: `true`, `1` or an empty value are true. */
export const Flag = z
  .enum(['true', 'false', '1', '0', ''])
  .transform((text) => text === 'true' || text === '1' || text === '')
  .meta({ type: 'boolean' })

const wholeNumber = (low: number, high: number, clampHigh: boolean) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'is not a whole number')
    .transform(Number)
    .refine((value) => value >= low && (clampHigh || value <= high), `must be from ${low} to ${high}`)
    .transform((value) => Math.min(value, high))
    .meta({ type: 'integer', minimum: low, maximum: high })

export const Wait = wholeNumber(0, 300, true)
  .optional()
  .describe('Seconds to wait for the end of the operation, at most 300.')
export const Limit = wholeNumber(1, 200, true).optional().describe('How many items; 50 by default, at most 200.')
export const LogLimit = wholeNumber(1, 5000, true).optional().describe('How many lines at most; 500 by default.')
export const Cursor = z.string().max(4000).optional().describe('nextCursor of the page before.')
/** Positions count bytes, and a run may print more than nine digits of them. */
export const Seq = z
  .string()
  .regex(/^\d{1,15}$/, 'is not a whole number of at most 15 digits')
  .transform(Number)
  .meta({ type: 'integer', minimum: 0, maximum: 999_999_999_999_999 })
  .optional()
export const DryRun = Flag.optional().describe('Checks everything and answers the plan; writes nothing.')

export const ListQuery = z.strictObject({ limit: Limit, cursor: Cursor })

/** A page of a list under its own name in the OpenAPI document. */
export function pageOf<Item extends z.ZodType>(name: string, item: Item) {
  return z.object({ items: z.array(item), nextCursor: z.string().nullable() }).meta({ id: name })
}

/** A list that is always answered whole. */
export function listOf<Item extends z.ZodType>(name: string, item: Item) {
  return z.object({ items: z.array(item) }).meta({ id: name })
}

/** What is kept of an output that grows at its end and is cut at its beginning. */
export const OutputRange = z.object({ first: z.int(), end: z.int() }).meta({ id: 'OutputRange' })

/** A body that is no JSON, under its own name in the OpenAPI document. */
export function textOf(name: string, description: string) {
  return z.string().meta({ id: name, description })
}

export const ProblemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string().optional(),
    code: z.string(),
    hint: z.string(),
    requestId: z.string().optional(),
    retryable: z.boolean(),
    errors: z
      .array(
        z
          .object({
            pointer: z.string(),
            code: z.string(),
            detail: z.string(),
            line: z.int().optional(),
            column: z.int().optional(),
          })
          .meta({ id: 'FieldError' }),
      )
      .optional(),
  })
  .meta({ id: 'Problem' })

export const PageUrl = z
  .string()
  .nullable()
  .describe('Its page, for people who are signed in; null when it has none now.')
