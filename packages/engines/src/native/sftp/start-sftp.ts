import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Account } from '../account.ts'
import { FilesError } from '../as-user/files-error.ts'
import { startProgram } from '../as-user/helper-process.ts'
import { givingUpRights } from '../as-user/restricted.ts'

export interface SftpProcess {
  /** Null: the user of the service, which must not be root. */
  readonly account: Account | null
  /** Absolute; nothing outside of it is reached. */
  readonly root: string
  /** Which of the two forms the client has: see `SessionOptions`. */
  readonly linkFirst: boolean
  /** Whether whoever speaks with it knows `ahead.ts`. */
  readonly ahead: boolean
  /** Where Node keeps what it compiled. */
  readonly compiled: string | null
}

const program = fileURLToPath(new URL('./program.ts', import.meta.url))

/** A process that speaks SFTP on its standard input and output, as the user of the project. It ends with its input; the caller listens to its errors. */
export async function startSftp({ account, root, linkFirst, ahead, compiled }: SftpProcess): Promise<ChildProcess> {
  const options = [linkFirst ? 'link-first' : 'target-first', ahead ? 'ahead' : 'asked']
  const isRoot = process.getuid?.() === 0
  if (isRoot && !(account !== null && account.uid > 0 && account.gid > 0))
    throw new FilesError('denied', 'The user of a project is never root.')
  if (account === null || !isRoot) return startProgram(program, ['-', '-', root, ...options], [], compiled)
  return startProgram(
    program,
    [String(account.uid), String(account.gid), root, ...options],
    await givingUpRights(),
    compiled,
  )
}
