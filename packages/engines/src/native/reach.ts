import { access, constants, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Account } from './account.ts'
import { runAs } from './isolation/as-user.ts'

/**
 * The first directory on the way to `path` that the account cannot enter; null when it can reach it. Looks at the
 * permission bits of both the path as written and where it really leads. Throws when the path does not exist.
 */
export async function unreachableAt(
  path: string,
  account: Account | null,
  mayEnter: (directory: string) => Promise<boolean> = (directory) => may(directory, account, 1),
): Promise<string | null> {
  const parents = new Set([...parentsOf(path), ...parentsOf(await realpath(path))])
  for (const directory of [...parents].sort((a, b) => a.length - b.length)) {
    if (!(await mayEnter(directory))) return directory
  }
  return null
}

/** Whether the account may execute (1) or read (4) this one file or directory, whatever its parents allow. */
export async function may(path: string, account: Account | null, bit: 1 | 4): Promise<boolean> {
  if (account === null) {
    return access(path, bit === 1 ? constants.X_OK : constants.R_OK).then(
      () => true,
      () => false,
    )
  }
  const { mode, uid, gid } = await stat(path)
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0
  if (((mode >> shift) & bit) !== 0) return true
  // The bits know nothing of access lists; the kernel does.
  return (await runAs(account, ['/usr/bin/test', bit === 1 ? '-x' : '-r', path])).code === 0
}

function parentsOf(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [] : [...parentsOf(parent), parent]
}
