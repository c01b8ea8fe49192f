import { z } from 'zod'
import { operation } from '../operation.ts'
import {
  BackupCopyRequest,
  BackupFetchRequest,
  BackupTarget,
  BackupTargetCheck,
  BackupTargetCreate,
  BackupTargetId,
  NewBackupTarget,
  TargetBackupId,
  TargetBackupList,
} from '../schemas/backup-targets.ts'
import { Backup, BackupId } from '../schemas/backups.ts'
import { listOf, Wait } from '../schemas/common.ts'
import { InstanceBackup, InstanceBackupFetch, InstanceBackupId } from '../schemas/instance-backups.ts'
import { OperationRecord } from '../schemas/operations.ts'

const instance = { kind: 'scope', scope: 'admin', instance: true } as const
const one = z.object({ target: BackupTargetId })
const waits = z.strictObject({ wait: Wait })
/** What can be wrong with a target itself. */
const wrong = ['target_unreachable', 'target_refused', 'target_full', 'target_changed'] as const

export const listBackupTargets = operation({
  id: 'listBackupTargets',
  method: 'GET',
  path: '/backup-targets',
  tag: 'Backups',
  summary: 'Where backups are copied to',
  description: 'Credentials are never listed.',
  access: instance,
  results: { 200: listOf('BackupTargetList', BackupTarget) },
  problems: [],
})

export const createBackupTarget = operation({
  id: 'createBackupTarget',
  method: 'POST',
  path: '/backup-targets',
  tag: 'Backups',
  summary: 'Add a folder, a bucket or another machine that backups can be copied to',
  description:
    'A small object is written, read back and deleted before anything is kept. Copies are encrypted: a generated passphrase is answered this once.',
  access: instance,
  body: BackupTargetCreate,
  results: { 201: NewBackupTarget },
  problems: ['validation_failed', 'conflict', 'path_forbidden', 'target_locked', 'backup_damaged', ...wrong],
  audit: 'backup-target.create',
})

export const getBackupTarget = operation({
  id: 'getBackupTarget',
  method: 'GET',
  path: '/backup-targets/{target}',
  tag: 'Backups',
  summary: 'Read a backup target',
  description: 'Credentials are never answered.',
  access: instance,
  params: one,
  results: { 200: BackupTarget },
  problems: [],
})

export const deleteBackupTarget = operation({
  id: 'deleteBackupTarget',
  method: 'DELETE',
  path: '/backup-targets/{target}',
  tag: 'Backups',
  summary: 'Forget a backup target and its credentials',
  description:
    'What lies on it stays there, and opens with its passphrase. Answers 409 while something is copied, and while backup schedules name it.',
  access: instance,
  params: one,
  results: { 204: null },
  problems: ['busy', 'conflict'],
  audit: 'backup-target.delete',
  removes: 'record',
})

export const checkBackupTarget = operation({
  id: 'checkBackupTarget',
  method: 'POST',
  path: '/backup-targets/{target}/check',
  tag: 'Backups',
  summary: 'Write a small object to a backup target, read it back and delete it',
  description: 'Also compares the key file with the one that this instance knows.',
  access: instance,
  params: one,
  body: BackupTargetCheck.optional(),
  results: { 200: BackupTarget },
  problems: [...wrong],
  audit: 'backup-target.check',
})

export const listTargetBackups = operation({
  id: 'listTargetBackups',
  method: 'GET',
  path: '/backup-targets/{target}/backups',
  tag: 'Backups',
  summary: 'Backups that lie on a target, also those of other instances, newest first',
  description: 'The index of each is read and decrypted, so it takes as long as the target does.',
  access: instance,
  params: one,
  results: { 200: TargetBackupList },
  problems: [...wrong],
})

export const fetchBackup = operation({
  id: 'fetchBackup',
  method: 'POST',
  path: '/backup-targets/{target}/fetch',
  tag: 'Backups',
  summary: 'Bring a backup from a target to this instance',
  description:
    'Every part is checked against its checksum before the backup counts. Answers the operation, and with `wait` the backup when it is there.',
  access: instance,
  params: one,
  query: waits,
  body: BackupFetchRequest,
  results: { 202: OperationRecord, 201: Backup },
  problems: ['conflict', 'disk_full', 'backup_damaged', ...wrong],
  audit: 'backup.fetch',
})

export const fetchInstanceBackup = operation({
  id: 'fetchInstanceBackup',
  method: 'POST',
  path: '/backup-targets/{target}/fetch-instance',
  tag: 'Backups',
  summary: 'Bring a backup of the instance itself from a target',
  description:
    'It is checked as an upload is: one of another secret key or a newer schema is refused. Then restore it. Answers the operation, and with `wait` the backup.',
  access: instance,
  params: one,
  query: waits,
  body: InstanceBackupFetch,
  results: { 202: OperationRecord, 201: InstanceBackup },
  problems: ['conflict', 'disk_full', 'backup_damaged', 'backup_locked', ...wrong],
  audit: 'instance.backup.fetch',
})

export const deleteTargetBackup = operation({
  id: 'deleteTargetBackup',
  method: 'DELETE',
  path: '/backup-targets/{target}/backups/{backup}',
  tag: 'Backups',
  summary: 'Delete a copy on a target for good',
  description:
    'Also one that another instance made; `confirm` is the id of the backup once more. The backup here stays. Answers the operation.',
  access: instance,
  params: z.object({ target: BackupTargetId, backup: TargetBackupId }),
  query: z.strictObject({ confirm: TargetBackupId.describe('The id of the backup once more.'), wait: Wait }),
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: ['validation_failed', ...wrong],
  audit: 'backup.copy.delete',
  removes: 'data',
})

export const copyInstanceBackup = operation({
  id: 'copyInstanceBackup',
  method: 'POST',
  path: '/instance/backups/{backup}/copies',
  tag: 'Backups',
  summary: 'Copy a backup of the instance itself to a target',
  description: 'As copies of backups of projects. Answers the operation, and with `wait` the backup.',
  access: instance,
  params: z.object({ backup: InstanceBackupId }),
  query: waits,
  body: BackupCopyRequest,
  results: { 202: OperationRecord, 200: InstanceBackup },
  problems: ['validation_failed', 'backup_damaged', 'busy', ...wrong],
  audit: 'instance.backup.copy',
})

export const copyBackup = operation({
  id: 'copyBackup',
  method: 'POST',
  path: '/backups/{backup}/copies',
  tag: 'Backups',
  summary: 'Copy a backup to a target',
  description:
    'Encrypted, in pieces; each is read back before it counts, and a copy that was interrupted goes on where it was. Answers the operation, and with `wait` the backup when the copy is complete.',
  access: instance,
  params: z.object({ backup: BackupId }),
  query: waits,
  body: BackupCopyRequest,
  results: { 202: OperationRecord, 200: Backup },
  problems: ['validation_failed', 'backup_damaged', 'busy', ...wrong],
  audit: 'backup.copy',
})
