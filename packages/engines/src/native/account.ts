import { lchown, lstat, readFile } from 'node:fs/promises'
import { EngineError } from '@stackquay/engine-api'

/** The unprivileged user that programs run as. */
export interface Account {
  readonly uid: number
  readonly gid: number
  /** Its name in /etc/passwd, where it has one. */
  readonly name?: string
  /** A person’s own user, whose other processes are none of the project’s: what is ended is never found by this uid. */
  readonly isOwner?: true
  /** Other projects have it too, until each is moved to a user of its own: what is ended is never found by this uid either. */
  readonly isShared?: true
}

/** Null means: the user this process already has. Root is refused in every form. */
export function workloadAccount(runAs: Account | null): Account | null {
  const own = process.getuid?.() ?? -1
  if (runAs === null || runAs.uid === own) {
    if (own === 0) {
      throw new EngineError('engine_unavailable', 'The native engine does not run programs as root.', {
        hint: 'Name an unprivileged user for workloads, or start the server as an ordinary user.',
      })
    }
    return null
  }
  if (runAs.uid === 0 || runAs.gid === 0) {
    throw new EngineError('engine_unavailable', 'The user for workloads must not be root.', {
      hint: 'Choose a user with a uid and a gid other than 0.',
    })
  }
  if (own !== 0) {
    throw new EngineError(
      'engine_unavailable',
      `Only root can run programs as uid ${runAs.uid}; the server runs as uid ${own}.`,
      {
        hint: 'Start the server as root, or leave out the user for workloads.',
      },
    )
  }
  return runAs
}

/** Never follows a symbolic link, and does nothing when the owner is right already. */
export async function chownTo(path: string, account: Account): Promise<void> {
  const now = await lstat(path)
  if (now.uid !== account.uid || now.gid !== account.gid) await lchown(path, account.uid, account.gid)
}

/** The user's name in /etc/passwd; null when it has none there. */
export async function userName(uid: number): Promise<string | null> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')
  const entry = lines.map((line) => line.split(':')).find((fields) => fields[2] === String(uid))
  return entry?.[0] ?? null
}
