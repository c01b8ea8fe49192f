import { z } from 'zod'
import { operation } from '../operation.ts'
import { InstanceBackupScheduleBody, InstanceBackupScheduleState } from '../schemas/backup-schedule.ts'
import {
  InstanceBackup,
  InstanceBackupCreate,
  InstanceBackupId,
  InstanceBackupList,
  InstanceRestore,
  InstanceRestoring,
} from '../schemas/instance-backups.ts'

const instance = { kind: 'scope', scope: 'admin', instance: true } as const
const one = z.object({ backup: InstanceBackupId })
const archive = z.string().meta({
  id: 'InstanceBackupArchive',
  format: 'binary',
  description: 'A tar archive: the database, compressed, and `manifest.json`.',
})

export const listInstanceBackups = operation({
  id: 'listInstanceBackups',
  method: 'GET',
  path: '/instance/backups',
  tag: 'Backups',
  summary: 'Backups of the instance itself, newest first',
  description: 'Made by hand, by schedule, uploaded, or by itself before a newer version changed the schema.',
  access: instance,
  results: { 200: InstanceBackupList },
  problems: [],
})

export const createInstanceBackup = operation({
  id: 'createInstanceBackup',
  method: 'POST',
  path: '/instance/backups',
  tag: 'Backups',
  summary: 'Make a backup of the instance itself',
  description:
    'Users, tokens, projects, sealed secrets, settings, schedules and the audit log, of one moment, while the service goes on. ' +
    'Data and files of projects are in their own backups. The secret key is never in it.',
  access: instance,
  body: InstanceBackupCreate.optional(),
  results: { 201: InstanceBackup },
  problems: ['validation_failed', 'busy', 'disk_full'],
  audit: 'instance.backup.create',
})

export const downloadInstanceBackup = operation({
  id: 'downloadInstanceBackup',
  method: 'GET',
  path: '/instance/backups/{backup}/download',
  tag: 'Backups',
  summary: 'A backup of the instance as one tar archive; needs a browser session',
  description:
    'Ranges are answered. Its secrets open only with the secret key; hashes of passwords and tokens are in it.',
  access: { ...instance, session: true },
  params: one,
  results: { 200: archive },
  resultType: 'application/x-tar',
  ticket: 'download',
  problems: [],
  audit: 'instance.backup.download',
})

export const deleteInstanceBackup = operation({
  id: 'deleteInstanceBackup',
  method: 'DELETE',
  path: '/instance/backups/{backup}',
  tag: 'Backups',
  summary: 'Delete a backup of the instance for good',
  description: 'It cannot be undone. One that is being copied answers 409.',
  access: instance,
  params: one,
  results: { 204: null },
  problems: ['busy'],
  audit: 'instance.backup.delete',
  removes: 'data',
})

export const uploadInstanceBackup = operation({
  id: 'uploadInstanceBackup',
  method: 'POST',
  path: '/instance/backups/upload',
  tag: 'Backups',
  summary: 'Bring a downloaded backup of the instance back',
  description:
    'The body is the archive as it was downloaded. It is checked whole before it counts; one of another secret key or a newer schema is refused.',
  access: instance,
  body: archive,
  bodyTypes: ['application/x-tar'],
  bodyStream: true,
  results: { 201: InstanceBackup },
  problems: ['backup_damaged', 'backup_locked', 'conflict', 'disk_full', 'unsupported_media_type'],
  audit: 'instance.backup.upload',
})

export const restoreInstanceBackup = operation({
  id: 'restoreInstanceBackup',
  method: 'POST',
  path: '/instance/backups/{backup}/restore',
  tag: 'Backups',
  summary: 'Put the instance back to what a backup holds; needs a browser session',
  description:
    'A backup of what is replaced is made first. Answers when everything was checked and made ready; then the service opens again with it, and every session, ticket and known device is gone. ' +
    'Files, data and processes of projects are not touched, also of those that the backup does not know; diagnostics list them. Operations of then have failed.',
  access: { ...instance, session: true },
  params: one,
  body: InstanceRestore,
  results: { 202: InstanceRestoring },
  problems: ['validation_failed', 'busy', 'disk_full', 'backup_damaged', 'backup_locked', 'unavailable_here'],
  audit: 'instance.restore',
})

export const getInstanceBackupSchedule = operation({
  id: 'getInstanceBackupSchedule',
  method: 'GET',
  path: '/instance/backup-schedule',
  tag: 'Backups',
  summary: 'When backups of the instance itself are made, and how many stay',
  description: 'Also whether one is late, why the last one failed, and on which targets the newest lies.',
  access: instance,
  results: { 200: InstanceBackupScheduleState },
  problems: [],
})

export const putInstanceBackupSchedule = operation({
  id: 'putInstanceBackupSchedule',
  method: 'PUT',
  path: '/instance/backup-schedule',
  tag: 'Backups',
  summary: 'Have backups of the instance itself made at certain times, kept and copied',
  description: 'By the rules of the schedules of projects. Setting it makes none.',
  access: instance,
  body: InstanceBackupScheduleBody,
  results: { 200: InstanceBackupScheduleState },
  problems: ['validation_failed'],
  audit: 'instance.backup.schedule',
})

export const deleteInstanceBackupSchedule = operation({
  id: 'deleteInstanceBackupSchedule',
  method: 'DELETE',
  path: '/instance/backup-schedule',
  tag: 'Backups',
  summary: 'Make no more backups of the instance by schedule; those that are there stay',
  description: 'Without a schedule there is nothing to do.',
  access: instance,
  results: { 204: null },
  problems: [],
  audit: 'instance.backup.schedule',
  removes: 'record',
})
