import { z } from 'zod'
import { operation } from '../operation.ts'
import { BackupScheduleBody, BackupScheduleState } from '../schemas/backup-schedule.ts'
import { Backup, BackupCreate, BackupId, RestoreAs, RestoreRequest } from '../schemas/backups.ts'
import { Cursor, DryRun, Limit, ProjectRef, pageOf, Wait } from '../schemas/common.ts'
import { OperationRecord } from '../schemas/operations.ts'
import { Project } from '../schemas/project.ts'
import { admin, change, id, operate, read } from './of-project.ts'

const backup = z.object({ id: ProjectRef, backup: BackupId })
const anyBackup = z.object({ backup: BackupId })
const instance = { kind: 'scope', scope: 'admin', instance: true } as const
const BackupPage = pageOf('BackupPage', Backup)
const archive = z.string().meta({
  id: 'BackupArchive',
  format: 'binary',
  description: 'A tar archive: `manifest.json` and a file for each part.',
})

export const listBackups = operation({
  id: 'listBackups',
  method: 'GET',
  path: '/projects/{id}/backups',
  tag: 'Backups',
  summary: 'Backups of a project, newest first',
  description: 'With their parts, and what the last restore drill found.',
  access: read,
  params: id,
  query: z.strictObject({ limit: Limit, cursor: Cursor }),
  results: { 200: BackupPage },
  problems: ['invalid_request'],
})

export const createBackup = operation({
  id: 'createBackup',
  method: 'POST',
  path: '/projects/{id}/backups',
  tag: 'Backups',
  summary: 'Make a backup of a project, running or stopped',
  description:
    'The plan (`dryRun`) says which parts are taken, and which workloads stop for it. Answers the operation, and with `wait` the backup when it is there.',
  access: operate,
  params: id,
  query: change,
  body: BackupCreate.optional(),
  results: { 202: OperationRecord, 201: Backup },
  problems: ['validation_failed', 'busy', 'disk_full', 'engine_cannot'],
  audit: 'backup.create',
  dryRun: true,
})

export const getBackup = operation({
  id: 'getBackup',
  method: 'GET',
  path: '/projects/{id}/backups/{backup}',
  tag: 'Backups',
  summary: 'Read a backup',
  description: 'With its parts, and what the last restore drill found.',
  access: read,
  params: backup,
  results: { 200: Backup },
  problems: [],
})

export const downloadBackup = operation({
  id: 'downloadBackup',
  method: 'GET',
  path: '/projects/{id}/backups/{backup}/download',
  tag: 'Backups',
  summary: 'A backup as one tar archive',
  description:
    'Ranges are answered. Files and data in it are readable by public tools; its settings open only with the secret key of this instance.',
  access: operate,
  params: backup,
  results: { 200: archive },
  resultType: 'application/x-tar',
  ticket: 'download',
  problems: [],
  audit: 'backup.download',
})

export const deleteBackup = operation({
  id: 'deleteBackup',
  method: 'DELETE',
  path: '/projects/{id}/backups/{backup}',
  tag: 'Backups',
  summary: 'Delete a backup for good',
  description: 'It cannot be undone. A backup that is being restored or verified answers 409.',
  access: admin,
  params: backup,
  results: { 204: null },
  problems: ['busy'],
  audit: 'backup.delete',
  removes: 'data',
})

export const verifyBackup = operation({
  id: 'verifyBackup',
  method: 'POST',
  path: '/projects/{id}/backups/{backup}/verify',
  tag: 'Backups',
  summary: 'Restore a backup into a test environment and look whether it is whole',
  description:
    'Nothing of the project is touched, and none of its code runs. Answers the operation, and with `wait` the backup with what was found.',
  access: operate,
  params: backup,
  query: z.strictObject({ wait: Wait }),
  results: { 202: OperationRecord, 200: Backup },
  problems: ['busy', 'disk_full', 'engine_cannot', 'unavailable_here'],
  audit: 'backup.verify',
})

export const restoreBackup = operation({
  id: 'restoreBackup',
  method: 'POST',
  path: '/projects/{id}/backups/{backup}/restore',
  tag: 'Backups',
  summary: 'Put a project back to what a backup holds, or some parts of it',
  description:
    'A backup of what is replaced is made first. What is not named stays untouched. Workloads that use the data stop for it and start afterwards. ' +
    'A restore that fails puts back what was there.',
  access: admin,
  params: backup,
  query: change,
  body: RestoreRequest,
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: [
    'validation_failed',
    'busy',
    'precondition_required',
    'precondition_failed',
    'disk_full',
    'engine_cannot',
    'unavailable_here',
    'backup_damaged',
    'backup_locked',
  ],
  audit: 'backup.restore',
  dryRun: true,
  removes: 'data',
})

export const getBackupSchedule = operation({
  id: 'getBackupSchedule',
  method: 'GET',
  path: '/projects/{id}/backup-schedule',
  tag: 'Backups',
  summary: 'When backups of a project are made by themselves, and how many stay',
  description:
    'Also when the next one comes, whether it is late, why the last one failed, and on which targets it lies.',
  access: read,
  params: id,
  results: { 200: BackupScheduleState },
  problems: [],
})

export const putBackupSchedule = operation({
  id: 'putBackupSchedule',
  method: 'PUT',
  path: '/projects/{id}/backup-schedule',
  tag: 'Backups',
  summary: 'Set when backups are made by themselves, and how many stay',
  description:
    'Replaces the schedule; what is left out takes its default. It makes and deletes no backup now: old ones go after the next one by schedule. ' +
    'However many times passed while the service was off, one backup is made for them. A token that is restricted to projects names no new targets.',
  access: admin,
  params: id,
  body: BackupScheduleBody,
  results: { 200: BackupScheduleState },
  problems: ['validation_failed'],
  audit: 'backup.schedule',
})

export const deleteBackupSchedule = operation({
  id: 'deleteBackupSchedule',
  method: 'DELETE',
  path: '/projects/{id}/backup-schedule',
  tag: 'Backups',
  summary: 'Make no more backups by schedule; those that are there stay',
  description: 'Without a schedule there is nothing to do.',
  access: admin,
  params: id,
  results: { 204: null },
  problems: [],
  audit: 'backup.schedule',
  removes: 'record',
})

export const listAllBackups = operation({
  id: 'listAllBackups',
  method: 'GET',
  path: '/backups',
  tag: 'Backups',
  summary: 'Backups of all projects, deleted ones too, newest first',
  description: 'With their parts, and what the last restore drill found.',
  access: instance,
  query: z.strictObject({
    limit: Limit,
    cursor: Cursor,
    deleted: z.enum(['true', 'false']).optional().describe('Only those of projects that are gone, or only of others.'),
  }),
  results: { 200: BackupPage },
  problems: ['invalid_request'],
})

export const uploadBackup = operation({
  id: 'uploadBackup',
  method: 'POST',
  path: '/backups/upload',
  tag: 'Backups',
  summary: 'Bring a downloaded backup back',
  description:
    'The body is the archive as it was downloaded. Every part is checked against its checksum before the backup counts; nothing is unpacked.',
  access: instance,
  body: archive,
  bodyTypes: ['application/x-tar'],
  bodyStream: true,
  results: { 201: Backup },
  problems: ['backup_damaged', 'conflict', 'disk_full', 'unsupported_media_type'],
  audit: 'backup.upload',
})

export const getAnyBackup = operation({
  id: 'getAnyBackup',
  method: 'GET',
  path: '/backups/{backup}',
  tag: 'Backups',
  summary: 'Read a backup of any project, also of a deleted one',
  description: 'With its parts, and what the last restore drill found.',
  access: instance,
  params: anyBackup,
  results: { 200: Backup },
  problems: [],
})

export const downloadAnyBackup = operation({
  id: 'downloadAnyBackup',
  method: 'GET',
  path: '/backups/{backup}/download',
  tag: 'Backups',
  summary: 'A backup of any project as one tar archive',
  description: 'Like the download of a project’s backup, also for a project that is gone.',
  access: instance,
  params: anyBackup,
  results: { 200: archive },
  resultType: 'application/x-tar',
  ticket: 'download',
  problems: [],
  audit: 'backup.download',
})

export const deleteAnyBackup = operation({
  id: 'deleteAnyBackup',
  method: 'DELETE',
  path: '/backups/{backup}',
  tag: 'Backups',
  summary: 'Delete a backup of any project for good',
  description: 'It cannot be undone. A backup that is being restored or verified answers 409.',
  access: instance,
  params: anyBackup,
  results: { 204: null },
  problems: ['busy'],
  audit: 'backup.delete',
  removes: 'data',
})

export const restoreBackupAs = operation({
  id: 'restoreBackupAs',
  method: 'POST',
  path: '/backups/{backup}/restore-as',
  tag: 'Backups',
  summary: 'Make a new project of a backup',
  description:
    'With its settings, variables and secrets, files and data. It gets ports of its own; domains that another project has are left out, and said.',
  access: instance,
  params: anyBackup,
  query: z.strictObject({ dryRun: DryRun, wait: Wait }),
  body: RestoreAs,
  results: { 201: Project },
  problems: [
    'validation_failed',
    'conflict',
    'disk_full',
    'engine_cannot',
    'unavailable_here',
    'backup_damaged',
    'backup_locked',
  ],
  audit: 'backup.restore-as',
  dryRun: true,
})
