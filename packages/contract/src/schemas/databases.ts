import { databaseTypes } from '@stackquay/catalog'
import { z } from 'zod'
import { Time } from './common.ts'

export const databaseTypeNames = databaseTypes.flatMap((kind) => [kind.name, ...kind.aliases])

const Keep = z
  .string()
  .regex(/^([1-9]|[1-9]\d|[12]\d\d|3[0-5]\d|36[0-5])d$/, 'must be days, 1d to 365d')
  .describe('How far back, in days: 7d.')

export const PointInTimeSettings = z
  .object({ keep: Keep })
  .meta({ id: 'PointInTimeSettings', description: 'Its changes are kept, so it can be restored to a moment.' })

export const PointInTimeChange = z.strictObject({ keep: Keep.default('7d') }).meta({ id: 'PointInTimeChange' })

export const DatabaseView = z
  .object({
    type: z.string(),
    version: z.string(),
    exposePort: z.boolean(),
    seed: z.array(z.string()).optional().describe('Dumps in the source that fill it when it is new.'),
    primary: z.boolean().describe('Its variables have no prefix: it is DATABASE_URL.'),
    hostPort: z.int().nullable(),
    pointInTime: PointInTimeSettings.optional(),
    recovered: z
      .object({
        database: z.string(),
        to: Time,
        lastTransactionAt: Time.nullable().describe('When the last transaction in it was committed.'),
      })
      .optional()
      .meta({ id: 'Recovered', description: 'It was made as that database was at that moment.' }),
  })
  .meta({ id: 'Database' })

const SeedPath = z.string().min(1).max(500)
/** Paths in the source. */
const Seed = z
  .union([SeedPath, z.array(SeedPath).max(20)])
  .describe('Dumps in the source, in their order, that fill the database when it is new or reset. An empty list: none.')

export const DatabasePatch = z.strictObject({
  type: z.string().describe(`One of: ${databaseTypeNames.join(', ')}.`),
  version: z.string().min(1).max(20).optional(),
  exposePort: z.boolean().optional(),
  seed: Seed.optional(),
  primary: z.boolean().optional().meta({ readOnly: true, description: 'Read-only. Accepted on input and ignored.' }),
  pointInTime: PointInTimeChange.nullable().optional().describe('Null: its changes are not kept.'),
  hostPort: z
    .int()
    .nullable()
    .optional()
    .meta({ readOnly: true, description: 'Read-only. Accepted on input and ignored.' }),
  recovered: z.unknown().optional().meta({ readOnly: true, description: 'Read-only. Accepted on input and ignored.' }),
})
/** What PATCH takes of a database: every field may be absent. */
export const DatabaseChange = DatabasePatch.partial()
  .extend({
    removeData: z.boolean().optional().meta({
      writeOnly: true,
      description: 'With an earlier version: what was written since the upgrade is lost. Needs scope admin.',
    }),
  })
  .meta({ id: 'DatabasePatch' })
