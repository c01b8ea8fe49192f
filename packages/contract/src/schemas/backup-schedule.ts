import { z } from 'zod'
import { BackupTargetId } from './backup-targets.ts'
import { BackupCopy } from './backups.ts'
import { Time } from './common.ts'

const rule = (least: number) => z.int().min(least).max(1000)
const ruleTexts = {
  last: 'The newest.',
  daily: 'The newest of each of so many days that have one.',
  weekly: 'The newest of each of so many weeks, from Monday.',
  monthly: 'The newest of each of so many months.',
}

export const BackupRetention = z
  .object({
    last: rule(1).describe(ruleTexts.last),
    daily: rule(0).describe(ruleTexts.daily),
    weekly: rule(0).describe(ruleTexts.weekly),
    monthly: rule(0).describe(ruleTexts.monthly),
  })
  .meta({ id: 'BackupRetention' })
export type BackupRetention = Readonly<z.infer<typeof BackupRetention>>

export const BackupRetentionBody = z
  .strictObject({
    last: rule(1).default(7).describe(`${ruleTexts.last} Default: 7.`),
    daily: rule(0).default(7).describe(`${ruleTexts.daily} Default: 7.`),
    weekly: rule(0).default(4).describe(`${ruleTexts.weekly} Default: 4.`),
    monthly: rule(0).default(6).describe(`${ruleTexts.monthly} Default: 6.`),
  })
  .meta({ id: 'BackupRetentionBody' })

const verifyPolicy = z.enum(['always', 'weekly', 'never'])

export const BackupScheduleBody = z
  .strictObject({
    cron: z
      .string()
      .min(1)
      .max(100)
      .describe('Five fields: minute, hour, day of month, month, day of week: `30 2 * * *`.'),
    timezone: z.string().min(1).max(60).default('UTC').describe('Of the IANA database: `Europe/Berlin`. Default: UTC.'),
    keep: BackupRetentionBody.prefault({}).describe(
      'How many stay of those made by schedule; what one rule keeps, no other deletes. The only one that was verified always stays.',
    ),
    verify: verifyPolicy
      .default('weekly')
      .describe('Which are verified by themselves: every one, one a week, or none. Default: weekly.'),
    targets: z
      .array(BackupTargetId)
      .max(5)
      .refine((ids) => new Set(ids).size === ids.length, 'names a target twice')
      .default([])
      .describe('Ids of backup targets: each backup that is made from now on is copied to all of them. Default: none.'),
    keepOnTargets: BackupRetentionBody.nullable()
      .default(null)
      .describe('How many copies by schedule stay on each target. Default: null, all of them.'),
  })
  .meta({ id: 'BackupScheduleBody' })
export type BackupScheduleSettings = Readonly<z.infer<typeof BackupScheduleBody>>

/** Of the instance: the drill is for data of projects. */
export const InstanceBackupScheduleBody = BackupScheduleBody.omit({ verify: true }).meta({
  id: 'InstanceBackupScheduleBody',
})

export const ScheduledCopy = z
  .object({
    target: BackupTargetId,
    name: z.string().describe('Name of the backup target.'),
    state: BackupCopy.shape.state.nullable().describe('As in `Backup.copies`; null while no copy was begun.'),
    at: Time.nullable().describe('Since when it is so; null while no copy was begun.'),
    late: z.boolean().describe('Whether half a period passed since a copy was due on it that is not complete.'),
    problem: z
      .string()
      .nullable()
      .describe('Why the last copy failed; null when it did not. It is tried again an hour later.'),
    keepProblem: z
      .string()
      .nullable()
      .describe('Why old copies could not be deleted there after the last one; null when they could.'),
  })
  .meta({ id: 'ScheduledCopy' })
export type ScheduledCopy = z.infer<typeof ScheduledCopy>

export const BackupScheduleView = z
  .object({
    cron: z.string(),
    timezone: z.string(),
    keep: BackupRetention,
    verify: verifyPolicy,
    targets: z.array(BackupTargetId).describe('Ids of backup targets that each backup by schedule is copied to.'),
    keepOnTargets: BackupRetention.nullable().describe('How many copies stay on each target; null: all.'),
    nextAt: Time.nullable().describe('The next time; null when there is none any more.'),
    dueAt: Time.nullable().describe('The time for which one is due and could not begin yet; null when none is.'),
    lastBackupAt: Time.nullable().describe('When the newest backup by schedule was made; null when there is none.'),
    late: z
      .boolean()
      .describe('Whether half a period passed since a backup was due that did not come, or lies not on all targets.'),
    problem: z.string().nullable().describe('Why the last one failed or the next one waits; null otherwise.'),
    copies: z.array(ScheduledCopy).describe('Where the newest backup by schedule lies, for each target.'),
  })
  .meta({ id: 'BackupSchedule' })
export type BackupScheduleView = z.infer<typeof BackupScheduleView>

export const BackupScheduleState = z
  .object({ schedule: BackupScheduleView.nullable().describe('Null when none is set.') })
  .meta({ id: 'BackupScheduleState' })

export const InstanceBackupScheduleState = z
  .object({
    schedule: BackupScheduleView.omit({ verify: true })
      .meta({ id: 'InstanceBackupSchedule' })
      .nullable()
      .describe('Null when none is set.'),
  })
  .meta({ id: 'InstanceBackupScheduleState' })
export type InstanceBackupScheduleState = z.infer<typeof InstanceBackupScheduleState>
