import { z } from 'zod'
import { Time } from './common.ts'
import { databaseNamePattern } from './names.ts'

export const copyMethods = ['copy-on-write', 'copy'] as const
export type CopyMethod = (typeof copyMethods)[number]
export const snapshotSources = ['manual', 'before-restore', 'before-reset', 'before-pull'] as const
export type SnapshotSource = (typeof snapshotSources)[number]

const SnapshotId = z
  .string()
  .regex(/^snp_[a-z0-9]{10,40}$/)
  .describe('Id of a snapshot: snp_….')
/** Without `_`, so never like an id: both can stand in an address. */
const SnapshotName = z
  .string()
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9.-]{0,59}$/, 'must be letters, digits, "." and "-", at most 60')
export const SnapshotRef = z
  .string()
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,59}$/)
  .describe('Id or name of a snapshot.')

export const Snapshot = z
  .object({
    id: SnapshotId,
    database: z.string().describe('The database, or the service by its type.'),
    name: z.string(),
    source: z.enum(snapshotSources).describe('before-…: made by a restore, a reset or a pull, of what it replaced.'),
    type: z.string(),
    version: z.string().nullable(),
    method: z.enum(copyMethods).describe('copy-on-write: it shares its blocks with what it was made of.'),
    bytes: z.int().describe('Of its files on disk, shared blocks too.'),
    milliseconds: z.int().describe('How long the copy took.'),
    createdAt: Time,
  })
  .meta({ id: 'Snapshot' })
export type Snapshot = z.infer<typeof Snapshot>

export const SnapshotCreate = z
  .strictObject({ name: SnapshotName.optional().describe('Made of the time when absent.') })
  .meta({ id: 'SnapshotCreate' })

export const SnapshotRestore = z
  .strictObject({ confirm: z.string().max(60).describe('The name of the database, typed.') })
  .meta({ id: 'SnapshotRestore' })

export const DatabaseReset = z
  .strictObject({ confirm: z.string().max(60).describe('The name of the database, typed.') })
  .meta({ id: 'DatabaseReset' })

export const DatabaseClone = z
  .strictObject({
    name: z
      .string()
      .regex(databaseNamePattern, 'must match [a-z][a-z0-9_]{0,30}')
      .describe('Name of the new database in the project.'),
    snapshot: SnapshotRef.optional().describe('Of this snapshot instead of the database as it is now.'),
  })
  .meta({ id: 'DatabaseClone' })
