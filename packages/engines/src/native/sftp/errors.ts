import { asFilesError, FilesError } from '../as-user/files-error.ts'
import { statuses } from './wire.ts'

/** What a client is told of an error: never a path of this machine. */
export function answerOfError(error: unknown): { readonly code: number; readonly message: string } {
  const { code = '', message } = error as NodeJS.ErrnoException
  const known = sentences[code]
  if (known !== undefined) return known
  // Ours are sentences; those of the system name paths.
  return { code: statuses.failure, message: 'syscall' in (error as object) ? `Failure (${code})` : message }
}

const sentences: Readonly<Record<string, { readonly code: number; readonly message: string }>> = {
  ENOENT: { code: statuses.noSuchFile, message: 'No such file' },
  ENOTDIR: { code: statuses.noSuchFile, message: 'No such file: a part of the path is no folder' },
  EACCES: { code: statuses.denied, message: 'Permission denied' },
  EPERM: { code: statuses.denied, message: 'Permission denied' },
  EROFS: { code: statuses.denied, message: 'The file system is read-only' },
  ELOOP: { code: statuses.denied, message: 'Permission denied: a symbolic link' },
  EEXIST: { code: statuses.failure, message: 'It is there already' },
  ENOTEMPTY: { code: statuses.failure, message: 'The folder is not empty' },
  EISDIR: { code: statuses.failure, message: 'It is a folder' },
  EMFILE: { code: statuses.failure, message: 'Too many files are open' },
  ENOSPC: { code: statuses.failure, message: 'The disk is full' },
  EDQUOT: { code: statuses.failure, message: 'The quota of the disk is used up' },
  EFBIG: { code: statuses.failure, message: 'The file is too large' },
  EXDEV: { code: statuses.failure, message: 'It lies on another file system' },
  EINVAL: { code: statuses.failure, message: 'That cannot be done with it' },
  EBADF: { code: statuses.failure, message: 'The handle is not open for that' },
}

/** The way back, for a client of ours: the sentence says more than the code of version 3. */
export function filesErrorOfAnswer(message: string): FilesError {
  if (message === 'Failure (ENAMETOOLONG)') return new FilesError('missing', 'The name is too long.')
  const code = codeOfSentence.get(message)
  return code === undefined
    ? new FilesError('failed', 'The system refused it.')
    : asFilesError(Object.assign(new Error(message), { code }))
}

const codeOfSentence = new Map(Object.entries(sentences).map(([code, { message }]) => [message, code]))
