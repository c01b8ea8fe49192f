import { execFile, spawn } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
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
/** Of a shell: there is no such program. */
const NOT_FOUND = 127

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

/** Of all processes of the machine. Empty where there is no /proc. */
export async function uidsOfProcesses(): Promise<ReadonlySet<number>> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  const uids = await Promise.all(
    pids.map((pid) =>
      stat(`/proc/${pid}`).then(
        ({ uid }) => uid,
        () => 0,
      ),
    ),
  )
  return new Set(uids)
}

/** `getent` ends with 2 when it does not find all of them, and prints those that it found. */
async function entriesOf(database: string, ids: readonly number[]): Promise<readonly string[]> {
  const asked = execute('getent', [database, ...ids.map(String)])
  const { stdout = '' } = await asked.catch((error: { readonly stdout?: string }) => error)
  return stdout.split('\n').filter((line) => line !== '')
}

/** `uid_taken` and `name_taken`: by somebody who is none of ours, and stays as he is. */
export type AddResult = SystemUser | 'uid_taken' | 'name_taken'

export interface NewSystemUser {
  readonly name: string
  readonly uid: number
  readonly home: string
}

/** Nobody logs in as it. */
const settings = [
  '--no-log-init',
  '--no-create-home',
  '--user-group',
  '--shell',
  '/usr/sbin/nologin',
  '--comment',
  'Stackquay project',
  // No ranges of subordinate ids: they are for people who run containers.
  '--key',
  'SUB_UID_COUNT=0',
  '--key',
  'SUB_GID_COUNT=0',
] as const

/**
 * Adds a user who cannot log in, with a group of its own, whose number is another one where the uid is none that this machine gives to
 * groups. Throws what the machine said when it cannot.
 */
export async function addSystemUser(user: NewSystemUser): Promise<AddResult> {
  const argv = [...settings, '--uid', String(user.uid), '--home-dir', user.home, user.name]
  const failure = await unlocked('useradd', argv, LOCKED)
  if (failure === null) return addedUser(user.name)
  if (failure.code === UID_TAKEN) return 'uid_taken'
  if (failure.code === NAME_TAKEN) return 'name_taken'
  throw new Error(failureText(failure))
}

interface Failure {
  readonly code?: number | string
  readonly stderr?: string
}

/** Again, for some seconds, as long as it ends with one of these codes. Others take the lock for each user that they add, and leave a moment between. */
async function unlocked(program: string, argv: readonly string[], codes: readonly number[]): Promise<Failure | null> {
  const until = performance.now() + mostLockedMs
  for (let wait = 20; ; wait = Math.min(2 * wait, 200)) {
    const failure = await execute(program, argv).then(
      () => null,
      (error: Failure) => error,
    )
    const mayGoAway = typeof failure?.code === 'number' && codes.includes(failure.code)
    if (!mayGoAway || performance.now() > until) return failure
    await sleep(wait * (0.5 + Math.random()))
  }
}

export const mostLockedMs = 8_000

/** `busy`: somebody else changes the machine's users at this moment. */
export type BatchResult = AddResult | 'busy'

/**
 * The same for many, by one process that tells of each when it is done. When the service is killed, it ends after the one that it is at.
 * Throws at the first that cannot be added for another reason; those behind it were not tried.
 */
export async function* addSystemUsers<User extends NewSystemUser>(
  users: readonly User[],
): AsyncGenerator<{ readonly user: User; readonly result: BatchResult }> {
  const each = users.flatMap(({ uid, home, name }) => [String(uid), home, name])
  const child = spawn('/bin/sh', ['-c', ADD_EACH, 'stackquay', ...each], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(-4096)
  })
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => undefined)
  child.once('error', reject)
  const stuck = setTimeout(() => reject(new Error('useradd does not end')), mostMsEach)
  const ended = new Promise<unknown>((resolve) => child.once('close', resolve))
  const lines = createInterface({ input: child.stdout })
  const codes = lines[Symbol.asyncIterator]()
  try {
    for (const user of users) {
      const line = await Promise.race([codes.next(), failed])
      stuck.refresh()
      const code = line.done === true ? Number.NaN : Number(line.value)
      if (code === 0) yield { user, result: await addedUser(user.name) }
      else if (code === UID_TAKEN) yield { user, result: 'uid_taken' }
      else if (code === NAME_TAKEN) yield { user, result: 'name_taken' }
      else if (LOCKED.includes(code)) yield { user, result: 'busy' }
      else throw new Error(failureText({ code: code === NOT_FOUND ? 'ENOENT' : code, stderr }))
    }
  } finally {
    clearTimeout(stuck)
    child.kill()
    lines.close()
    child.stdout.resume()
    // A useradd that it began goes on, and holds its output: nobody shall meet it afterwards.
    await Promise.race([ended, sleep(mostMsAfter, undefined, { ref: false })])
    child.stdout.destroy()
    child.stderr.destroy()
  }
}

/** `lckpwdf` waits 15 seconds for its lock. */
const mostMsEach = 30_000
const mostMsAfter = 5_000

/** `useradd` does not wait for its lock: others need a moment to get it. */
const ADD_EACH = `while [ "$#" -ge 3 ]; do
  useradd ${settings.map((setting) => `'${setting}'`).join(' ')} --uid "$1" --home-dir "$2" "$3" >&2
  echo "$?" || exit
  shift 3
  sleep 0.005
done`

/** `useradd` writes to the machine's own list, whatever others there are. */
async function addedUser(name: string): Promise<SystemUser> {
  const added = (await listedUsers())(name) ?? (await findSystemUser(name))
  if (added === null) throw new Error(`useradd added "${name}", and nobody finds it`)
  return added
}

/** As the machine's own list has them. */
export async function listedUsers(): Promise<(name: string) => SystemUser | null> {
  const text = `\n${await readFile('/etc/passwd', 'utf8').catch(() => '')}\n`
  return (name) => {
    const at = text.lastIndexOf(`\n${name}:`) + 1
    return at === 0 ? null : userOf(text.slice(at, text.indexOf('\n', at)))
  }
}

/** Removes a user and its group. Files stay. A user who is not there is fine. */
export async function removeSystemUser(name: string): Promise<void> {
  const failure = await unlocked('userdel', [name], [...LOCKED, IN_USE])
  if (failure === null || failure.code === NOT_THERE) return
  throw new Error(failure.stderr?.trim() || `userdel ended with ${failure.code}`)
}

function failureText({ code, stderr }: Failure): string {
  if (code === 'ENOENT') return 'the program "useradd" is not installed (Debian and Ubuntu: apt-get install -y passwd)'
  return (
    stderr
      ?.trim()
      .replace(/\.?\s*\n/g, '; ')
      .replace(/\.$/, '') || `useradd ended with ${code}`
  )
}
