import { execFile, spawnSync } from 'node:child_process'
import { lchown, lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The unprivileged user that owns projects' files and runs their programs. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

const execute = promisify(execFile)

/**
 * As root: the given account, or the system user `stackquay`, made when it is missing. Otherwise null: everything runs
 * as the one who runs the service. `say` tells the person what was changed on the machine.
 */
export async function workloadAccount(
  configured: Account | null,
  say: (text: string) => void,
): Promise<Account | null> {
  if (process.getuid?.() !== 0) return null
  if (configured !== null) return configured
  const existing = await accountOf('stackquay')
  if (existing !== null) return existing
  const made = spawnSync('useradd', [
    '--system',
    '--user-group',
    '--no-create-home',
    '--home-dir',
    '/nonexistent',
    '--shell',
    '/usr/sbin/nologin',
    'stackquay',
  ])
  if (made.status === 0) {
    say('Made the system user "stackquay": projects run as it, never as root.')
    const account = await accountOf('stackquay')
    if (account !== null) return account
  }
  const nobody = await accountOf('nobody')
  if (nobody !== null) {
    say(
      'The system user "stackquay" could not be made; projects run as "nobody". Set STACKQUAY_RUN_AS to choose another.',
    )
    return nobody
  }
  throw new Error(
    'There is no unprivileged user to run projects as. Make one (useradd --system stackquay) or set STACKQUAY_RUN_AS=uid:gid.',
  )
}

async function accountOf(name: string): Promise<Account | null> {
  try {
    const { stdout: uid } = await execute('id', ['-u', name])
    const { stdout: gid } = await execute('id', ['-g', name])
    return { uid: Number(uid), gid: Number(gid) }
  } catch {
    return null
  }
}

/**
 * Gives a tree that only root can change yet to the account, children before their folder: so nobody can put a link in
 * the place of something on the way. For a tree that is the account's already, use `copyAs`.
 */
export async function giveTo(account: Account | null, path: string): Promise<void> {
  if (account === null) return
  const info = await lstat(path)
  if (info.isDirectory()) for (const entry of await readdir(path)) await giveTo(account, join(path, entry))
  await lchown(path, account.uid, account.gid)
}

/** Copies what is in a folder, as the account: it can read only what it may, whatever is changed there meanwhile. */
export async function copyAs(account: Account | null, from: string, to: string, signal: AbortSignal): Promise<void> {
  const options = account === null ? {} : { uid: account.uid, gid: account.gid }
  await execute('cp', ['-RPp', '--', `${from}/.`, to], { ...options, cwd: '/', signal })
}

/** Removes a tree that others may be changing: rm(1) never follows a link that was put in its way. */
export async function removeTree(path: string): Promise<void> {
  await execute('rm', ['-rf', '--', path])
}

/** What the account may not do with a folder, in words; null when it can work there. */
export async function obstacleFor(account: Account | null, path: string): Promise<string | null> {
  const options = account === null ? {} : { uid: account.uid, gid: account.gid }
  for (const [flag, what] of [
    ['-x', 'enter'],
    ['-r', 'read'],
    ['-w', 'write'],
  ] as const) {
    const able = await execute('test', [flag, path], { ...options, cwd: '/' }).then(
      () => true,
      () => false,
    )
    if (!able) return what
  }
  return null
}
