import { z } from 'zod'
import { shownName } from '../shown-name.ts'
import { Time } from './common.ts'
import { slugPattern } from './project.ts'

export const BackupId = z
  .string()
  .regex(/^bak_[a-z0-9]{10,40}$/)
  .describe('Id of a backup: bak_….')

/** `settings`, `files`, `database:main`, `service:redis`: the same word in requests, answers, the manifest and `stq`. */
export const BackupPartId = z
  .string()
  .regex(
    /^(settings|files|(database|service):[a-z][a-z0-9_-]{0,40})$/,
    'must be settings, files, database:<name> or service:<name>',
  )
  .meta({ id: 'BackupPartId', description: 'Part of a backup: `settings`, `files`, `database:main`, `service:redis`.' })

export const backupSources = [
  'manual',
  'schedule',
  'before-restore',
  'before-import',
  'before-upgrade',
  'upload',
] as const

/**
 * How a part was taken. `copy`: its folder; of data while nothing wrote to it. `online`: consistent, by its own program, while it ran.
 */
export const backupMethods = ['copy', 'online'] as const

export const BackupPart = z
  .object({
    id: BackupPartId,
    title: z.string().describe('For people: `PostgreSQL main`.'),
    type: z.string().describe('`settings`, `files`, or the type of the database or service.'),
    version: z.string().nullable().describe('Version of the program that wrote it; null for settings and files.'),
    method: z
      .enum(backupMethods)
      .describe('copy: its folder; of data while nothing wrote to it. online: by its own program while it ran.'),
    bytes: z.int().describe('Size of the part as it is stored, compressed.'),
    contentBytes: z.int().describe('Size of its content.'),
    sha256: z.string().describe('Hexadecimal, of the part as it is stored.'),
    takenAt: Time.describe('The moment whose state the part holds.'),
    warnings: z.array(z.string()).describe('What to know of it, such as files that changed while they were read.'),
  })
  .meta({ id: 'BackupPart' })
export type BackupPart = z.infer<typeof BackupPart>

export const drillOutcomes = ['whole', 'faulty', 'failed'] as const

export const BackupVerification = z
  .object({
    at: Time,
    outcome: z
      .enum(drillOutcomes)
      .describe('whole: restored and found whole. faulty: it is not. failed: it could not be tried here.'),
    seconds: z.number(),
    checks: z
      .array(
        z
          .object({
            part: BackupPartId,
            check: z.string().describe('What was looked at: `checksum`, `unpacked`, `started`, `tables`, `keys` …'),
            ok: z.boolean(),
            detail: z.string().describe('What was found: `12 tables, 48,210 rows`.'),
          })
          .meta({ id: 'BackupCheck' }),
      )
      .describe('What was looked at, part by part.'),
  })
  .meta({ id: 'BackupVerification' })
export type BackupVerification = z.infer<typeof BackupVerification>

export const copyStates = ['copying', 'complete', 'incomplete'] as const

export const BackupCopy = z
  .object({
    target: z.string().describe('Id of the backup target.'),
    name: z.string().describe('Name of the backup target.'),
    state: z
      .enum(copyStates)
      .describe('complete: every byte was read back. incomplete: it was interrupted; copying again goes on there.'),
    at: Time.describe('Since when it is so.'),
  })
  .meta({ id: 'BackupCopy' })
export type BackupCopy = z.infer<typeof BackupCopy>

export const Backup = z
  .object({
    id: BackupId,
    project: z
      .object({
        id: z.string(),
        slug: z.string(),
        name: z.string(),
        deleted: z.boolean().describe('Whether the project is gone.'),
      })
      .meta({ id: 'BackupProject' })
      .describe('As it was called when the backup was made.'),
    engine: z.string().describe('The engine that the project ran on.'),
    createdAt: Time,
    note: z.string().nullable(),
    source: z.enum(backupSources).describe('Why it was made.'),
    sizeBytes: z.int().describe('Of all parts, as they are stored.'),
    parts: z.array(BackupPart),
    copies: z.array(BackupCopy).describe('Where copies of it lie, as this instance knows.'),
    verified: BackupVerification.nullable().describe('The last restore drill; null when there was none.'),
    opensHere: z
      .boolean()
      .describe(
        'Whether this instance has the secret key that opens its settings. Not so for one of another instance.',
      ),
  })
  .meta({ id: 'Backup' })
export type Backup = z.infer<typeof Backup>

export const BackupCreate = z
  .strictObject({
    note: shownName(200).nullable().optional().describe('For people.'),
    parts: z
      .array(BackupPartId)
      .min(1)
      .max(100)
      .optional()
      .describe('Only these and the settings, which open the data; without it all that the project has.'),
    includeRebuildable: z
      .boolean()
      .optional()
      .describe('Also folders that can be made again, such as node_modules. Default: false.'),
  })
  .meta({ id: 'BackupCreate' })

export const RestoreRequest = z
  .strictObject({
    confirm: z.string().max(60).describe('The slug of the project, typed.'),
    parts: z
      .array(BackupPartId)
      .min(1)
      .max(100)
      .optional()
      .describe('Only these. Without it files, databases and services; settings only when they are named.'),
  })
  .meta({ id: 'RestoreRequest' })

export const RestoreAs = z
  .strictObject({
    name: shownName(60).describe('Name of the new project.'),
    slug: z
      .string()
      .regex(slugPattern, 'must be lower-case letters, digits and hyphens')
      .optional()
      .describe('Part of its URL; made from the name when absent.'),
    parts: z
      .array(BackupPartId)
      .min(1)
      .max(100)
      .optional()
      .describe('Only these, and settings always. Without it all.'),
    start: z.boolean().optional().describe('Whether it starts afterwards. Default: false.'),
  })
  .meta({ id: 'RestoreAs' })
