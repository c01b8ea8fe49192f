import { z } from 'zod'
import { shownName } from '../shown-name.ts'
import { BackupId, backupSources } from './backups.ts'
import { Time } from './common.ts'
import { instanceBackupSources } from './instance-backups.ts'

export const BackupTargetId = z
  .string()
  .regex(/^tgt_[a-z0-9]{10,40}$/)
  .describe('Id of a backup target: `tgt_…`.')

export const targetKinds = ['folder', 's3', 'sftp'] as const

const secretText = (most: number) => z.string().min(1).max(most)

export const FolderTarget = z
  .strictObject({
    path: shownName(1000)
      .regex(/^\//, 'must be absolute')
      .describe('An absolute folder of this machine that is there, such as a mounted disk.'),
  })
  .meta({ id: 'FolderTarget' })

const s3Fields = {
  endpoint: z
    .url({ protocol: /^https?$/, error: 'must be an http or https address' })
    .max(500)
    .nullable()
    .describe('Its address, with scheme; null for Amazon S3.'),
  region: shownName(60).describe('Region of the bucket; many servers take any.'),
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be a name of a bucket')
    .describe('A bucket that is there.'),
  prefix: z
    .string()
    .max(200)
    .regex(/^([A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*)?$/, 'must be names between slashes')
    .describe('Before the names of all objects; empty for none.'),
  pathStyle: z.boolean().describe('Whether the bucket stands in the path, as most servers but Amazon’s want it.'),
}

const sftpFields = {
  host: z
    .string()
    .max(255)
    .regex(/^[A-Za-z0-9.:-]+$/, 'must be a host name or an address')
    .describe('Host name or address.'),
  port: z.int().min(1).max(65_535).describe('Port of its SSH server.'),
  user: shownName(100).describe('User to log in as.'),
  path: shownName(1000).describe('A folder that is there; relative to where the user is after the login.'),
  hostKey: z
    .string()
    .regex(/^[a-z0-9@.-]+ SHA256:[A-Za-z0-9+/]{43}$/, 'must be a type and a fingerprint: ssh-ed25519 SHA256:…')
    .describe('The key that the machine must show: `ssh-ed25519 SHA256:…`, as `ssh-keygen -l` prints it.'),
}

export const BucketTarget = z.object(s3Fields).meta({ id: 'BucketTarget' })
export const SftpTarget = z.object(sftpFields).meta({ id: 'SftpTarget' })

export const BucketTargetCreate = z
  .strictObject({
    ...s3Fields,
    endpoint: s3Fields.endpoint.optional(),
    region: s3Fields.region.optional().describe('Default: us-east-1.'),
    prefix: s3Fields.prefix.optional().describe('Before the names of all objects. Default: none.'),
    pathStyle: s3Fields.pathStyle
      .optional()
      .describe('Whether the bucket stands in the path. Default: where there is an endpoint.'),
    accessKeyId: secretText(200).describe('Access key. Sealed, and never answered.'),
    secretAccessKey: secretText(500).describe('Secret of the access key. Sealed, and never answered.'),
  })
  .meta({ id: 'BucketTargetCreate' })

export const SftpTargetCreate = z
  .strictObject({
    ...sftpFields,
    port: sftpFields.port.optional().describe('Default: 22.'),
    hostKey: sftpFields.hostKey
      .optional()
      .describe(
        'The key that the machine must show. Without it the request is refused, and the refusal names the key that it shows: compare it, then send it.',
      ),
    password: secretText(1000).optional().describe('Sealed, and never answered.'),
    privateKey: secretText(20_000).optional().describe('In OpenSSH’s or PEM form. Sealed, and never answered.'),
    privateKeyPassphrase: secretText(1000).optional().describe('Where the private key is encrypted.'),
  })
  .meta({ id: 'SftpTargetCreate' })

export const BackupTargetCreate = z
  .strictObject({
    name: shownName(60),
    folder: FolderTarget.optional().describe('A folder of this machine.'),
    s3: BucketTargetCreate.optional().describe('A bucket of a storage that speaks S3.'),
    sftp: SftpTargetCreate.optional().describe('A folder of another machine, over SSH.'),
    passphrase: z
      .string()
      .min(12)
      .max(1000)
      .optional()
      .describe(
        'Opens everything on the target, on any instance. Needed where there are backups on the target already; elsewhere one is generated without it.',
      ),
  })
  .refine(({ folder, s3, sftp }) => [folder, s3, sftp].filter((one) => one !== undefined).length === 1, {
    path: ['folder'],
    error: 'exactly one of folder, s3 and sftp must be there',
  })
  .meta({ id: 'BackupTargetCreate' })
export type BackupTargetCreate = z.infer<typeof BackupTargetCreate>

export const BackupTarget = z
  .object({
    id: BackupTargetId,
    name: z.string().describe('What people call it.'),
    kind: z.enum(targetKinds).describe('Which of `folder`, `s3` and `sftp` is not null.'),
    place: z.string().describe('Where it is, for people: `sftp://backup@nas.lan:22/srv/backups`.'),
    folder: FolderTarget.nullable().describe('Where it is a folder of this machine.'),
    s3: BucketTarget.nullable().describe('Where it is a bucket.'),
    sftp: SftpTarget.nullable().describe('Where it is a folder of another machine.'),
    copies: z.int().describe('How many backups of this instance lie on it.'),
    createdAt: Time,
    checkedAt: Time.describe('When writing, reading and deleting on it last did.'),
  })
  .meta({ id: 'BackupTarget' })
export type BackupTarget = z.infer<typeof BackupTarget>

export const NewBackupTarget = BackupTarget.extend({
  recoveryPassphrase: z
    .string()
    .nullable()
    .describe('The generated passphrase, shown this once. Keep it away from this machine. Null when you gave one.'),
  isNew: z.boolean().describe('False where there was a key on the target already: its backups can be fetched.'),
}).meta({ id: 'NewBackupTarget' })

/** Of a project or of an instance. */
export const TargetBackupId = z
  .string()
  .regex(/^(bak|ibk)_[a-z0-9]{10,40}$/)
  .describe('Id of a backup: bak_…, of an instance itself: ibk_….')

export const TargetBackup = z
  .object({
    id: TargetBackupId,
    project: z
      .object({ id: z.string(), slug: z.string(), name: z.string() })
      .meta({ id: 'TargetBackupProject' })
      .nullable()
      .describe('As it was called when the backup was made; null for a backup of an instance itself.'),
    engine: z.string().nullable().describe('The engine that the project ran on; null for one of an instance.'),
    createdAt: Time,
    note: z.string().nullable().describe('For people: what it is for; null when nothing was said.'),
    source: z.enum([...new Set([...backupSources, ...instanceBackupSources])]).describe('Why it was made.'),
    parts: z.array(z.string()).describe('What is in it.'),
    sizeBytes: z.int().describe('Of all parts, as they are stored.'),
    copiedAt: Time.describe('When the copy was complete.'),
    opens: z
      .boolean()
      .describe(
        'Whether its settings open here after it was fetched; of an instance, whether it can be restored here.',
      ),
    own: z.boolean().describe('Whether this instance copied it.'),
    here: z.boolean().describe('Whether a backup of this id is on this instance.'),
  })
  .meta({ id: 'TargetBackup' })
export type TargetBackup = z.infer<typeof TargetBackup>

export const TargetBackupList = z
  .object({
    items: z.array(TargetBackup),
    unreadable: z.array(z.string()).describe('A sentence for each copy that cannot be read.'),
  })
  .meta({ id: 'TargetBackupList' })

export const BackupTargetCheck = z
  .strictObject({
    restoreKeyFile: z
      .boolean()
      .optional()
      .describe('Put the key file back where it is gone; never over another one. Default: false.'),
  })
  .meta({ id: 'BackupTargetCheck' })

export const BackupCopyRequest = z
  .strictObject({ target: BackupTargetId.describe('Id of the target: `tgt_…`.') })
  .meta({ id: 'BackupCopyRequest' })
export const BackupFetchRequest = z
  .strictObject({ backup: BackupId.describe('Id of a backup that lies on the target.') })
  .meta({ id: 'BackupFetchRequest' })
