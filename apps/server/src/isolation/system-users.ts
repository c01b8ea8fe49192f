import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Account } from '@stackquay/engines'

const execute = promisify(execFile)
/** Somebody else changes the machine's users at this moment. */
const LOCKED = [1, 10]
const UID_TAKEN = 4
const NAME_TAKEN = 9
const NOT_THERE = 6
/** A process of that user is on its way out. */
const IN_USE = 8

export interface SystemUser extends Account {
  readonly name: string
  readonly home: string
  readonly shell: string
}

/** By name or number, as every program of the machine sees it; null when there is none. */
export async function findSystemUser(key: string | number): Promise<SystemUser | null> {
  const found = await execute('getent', ['passwd', String(key)]).catch(() => null)
  return found === null ? null : userOf(found.stdout.trim())
}

function userOf(line: string): SystemUser | null {
  const [name, , uid, gid, , home = '', shell = ''] = line.split(':')
  if (name === undefined || uid === undefined || gid === undefined) return null
  return { name, uid: Number(uid), gid: Number(gid), home, shell }
}

/**
 * Which of these numbers a user or a group has, in a directory (LDAP) too: files of a group are open to whoever gets its number later.
 * One question for many numbers costs as much as for one.
 */
export async function takenIds(ids: readonly number[]): Promise<ReadonlySet<number>> {
  const entries = await Promise.all(['passwd', 'group'].map((database) => entriesOf(database, ids)))
  return new Set(entries.flat().map((line) => Number(line.split(':')[2])))
}

/** `getent` ends with 2 when it does not find all of them, and prints those that it found. */
async function entriesOf(database: string, ids: readonly number[]): Promise<readonly string[]> {
  const asked = execute('getent', [database, ...ids.map(String)])
  const { stdout = '' } = await asked.catch((error: { readonly stdout?: string }) => error)
  return stdout.split('\n').filter((line) => line !== '')
}

/** `uid_taken` and `name_taken`: by somebody who is none of ours, and stays as he is. */
export type AddResult = SystemUser | 'uid_taken' | 'name_taken'

/**
 * Adds a user who cannot log in, with a group of its own, whose number is another one where the uid is none that this machine gives to
 * groups. Throws what the machine said when it cannot.
 */
export async function addSystemUser(user: { name: string; uid: number; home: string }): Promise<AddResult> {
  const argv = [
    '--no-log-init',
    '--no-create-home',
    '--user-group',
    '--uid',
    String(user.uid),
    '--home-dir',
    user.home,
    '--shell',
    '/usr/sbin/nologin',
    '--comment',
    'Stackquay project',
    // No ranges of subordinate ids: they are for people who run containers.
    '--key',
    'SUB_UID_COUNT=0',
    '--key',
    'SUB_GID_COUNT=0',
    user.name,
  ]
  for (let wait = 20; ; wait *= 2) {
    const failure = await execute('useradd', argv).then(
      () => null,
      (error: unknown) => error as { code?: number | string; stderr?: string },
    )
    if (failure === null) return addedUser(user.name)
    if (failure.code === UID_TAKEN) return 'uid_taken'
    if (failure.code === NAME_TAKEN) return 'name_taken'
    const isLocked = typeof failure.code === 'number' && LOCKED.includes(failure.code)
    if (!isLocked || wait > 3000) throw new Error(failureText(failure))
    await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())))
  }
}

/** `useradd` writes to the machine's own list, whatever others there are. */
async function addedUser(name: string): Promise<SystemUser> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')
  const line = lines.find((one) => one.startsWith(`${name}:`))
  const added = (line === undefined ? null : userOf(line)) ?? (await findSystemUser(name))
  if (added === null) throw new Error(`useradd added "${name}", and nobody finds it`)
  return added
}

/** Removes a user and its group. Files stay. A user who is not there is fine. */
export async function removeSystemUser(name: string): Promise<void> {
  for (let wait = 20; ; wait *= 2) {
    const failure = await execute('userdel', [name]).then(
      () => null,
      (error: unknown) => error as { code?: number | string; stderr?: string },
    )
    if (failure === null || failure.code === NOT_THERE) return
    const mayGoAway = typeof failure.code === 'number' && [...LOCKED, IN_USE].includes(failure.code)
    if (!mayGoAway || wait > 3000) throw new Error(failure.stderr?.trim() || `userdel ended with ${failure.code}`)
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}

function failureText({ code, stderr }: { code?: number | string; stderr?: string }): string {
  if (code === 'ENOENT') return 'the program "useradd" is not installed (Debian and Ubuntu: apt-get install -y passwd)'
  return (
    stderr
      ?.trim()
      .replace(/\.?\s*\n/g, '; ')
      .replace(/\.$/, '') || `useradd ended with ${code}`
  )
}
