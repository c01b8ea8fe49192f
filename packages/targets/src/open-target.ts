import { type FolderSettings, openFolderTarget } from './drivers/folder.ts'
import { openS3Target, type S3Credentials, type S3Settings } from './drivers/s3.ts'
import { openSftpTarget } from './drivers/sftp.ts'
import type { SftpCredentials, SftpSettings } from './drivers/sftp-connection.ts'
import type { Target } from './target.ts'

/** What is needed to open a target. Credentials are secret; settings are shown. */
export type TargetAccess =
  | { readonly kind: 'folder'; readonly settings: FolderSettings }
  | { readonly kind: 's3'; readonly settings: S3Settings; readonly credentials: S3Credentials }
  | { readonly kind: 'sftp'; readonly settings: SftpSettings; readonly credentials: SftpCredentials }

/** Nothing is connected yet. */
export async function openTarget(access: TargetAccess): Promise<Target> {
  switch (access.kind) {
    case 'folder':
      return openFolderTarget(access.settings)
    case 's3':
      return openS3Target(access.settings, access.credentials)
    case 'sftp':
      return openSftpTarget(access.settings, access.credentials)
    default:
      return access satisfies never
  }
}
