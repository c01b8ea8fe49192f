import { z } from 'zod'
import { shownName } from '../shown-name.ts'
import { BackupCopy } from './backups.ts'
import { Time } from './common.ts'

export const InstanceBackupId = z
  .string()
  .regex(/^ibk_[a-z0-9]{10,40}$/)
  .describe('Id of a backup of the instance: ibk_….')

export const instanceBackupSources = ['manual', 'schedule', 'before-migration', 'before-restore'] as const

export const InstanceBackup = z
  .object({
    id: InstanceBackupId,
    createdAt: Time,
    note: z.string().nullable(),
    source: z
      .enum(instanceBackupSources)
      .describe('before-migration: by itself, before a newer version changed the schema.'),
    stackquayVersion: z.string().describe('Of the service that made it.'),
    schema: z.int().describe('Of its database; an earlier version of Stackquay does not open a newer one.'),
    keyId: z.string().describe('The secret key that it needs.'),
    opensHere: z
      .boolean()
      .describe('Whether this service has that key and knows that schema, and nothing was changed.'),
    sizeBytes: z.int(),
    projects: z.int(),
    users: z.int(),
    auditEntries: z.int(),
    auditWhole: z.boolean().describe('Whether the audit log in it was whole.'),
    copies: z.array(BackupCopy).describe('Where copies of it lie, as this instance knows.'),
  })
  .meta({ id: 'InstanceBackup' })
export type InstanceBackup = z.infer<typeof InstanceBackup>

export const InstanceBackupList = z.object({ items: z.array(InstanceBackup) }).meta({ id: 'InstanceBackupList' })

export const InstanceBackupCreate = z
  .strictObject({ note: shownName(200).nullable().optional().describe('For people: what it is for.') })
  .meta({ id: 'InstanceBackupCreate' })

export const InstanceBackupFetch = z
  .strictObject({ backup: InstanceBackupId.describe('Id of a backup of the instance that lies on the target.') })
  .meta({ id: 'InstanceBackupFetch' })

export const InstanceRestore = z
  .strictObject({ confirm: InstanceBackupId.describe('The id of the backup once more.') })
  .meta({ id: 'InstanceRestore' })

export const InstanceRestoring = z
  .object({
    restoring: InstanceBackupId.describe('What the service holds when it answers again.'),
    before: InstanceBackupId.describe('The backup that was made of what is replaced.'),
  })
  .meta({ id: 'InstanceRestoring' })
