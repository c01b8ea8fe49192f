export { type AgeKey, openSealer, type Sealer } from './age/sealer.ts'
export { type Copier, CopierEndedError, openCopier } from './copier/copier.ts'
export type { CopyIndex, Piece } from './copy-format.ts'
export { readHostKey, type SftpCredentials, type SftpSettings } from './drivers/sftp-connection.ts'
export { openTarget, type TargetAccess } from './open-target.ts'
export { checkTarget } from './put-checked.ts'
export { findCopy, hasCopy, listCopies, type ReadOptions, readCopy } from './read-copies.ts'
export type { Remote, RemoteDump, RemoteEntry } from './remotes/remote.ts'
export { openS3Remote } from './remotes/s3-remote.ts'
export { openSshRemote } from './remotes/ssh-remote.ts'
export { withRetries } from './retries.ts'
export {
  type CopySource,
  removeAbandoned,
  removeCopy,
  removeLeftover,
  type SendOptions,
  sendCopy,
} from './send-copy.ts'
export { type Target, TargetError, type TargetErrorCode } from './target.ts'
export { requireKey, restoreKey, setUpKey, type TargetKey } from './target-key.ts'
