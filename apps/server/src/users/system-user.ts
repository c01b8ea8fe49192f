import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ProblemError } from '@stackquay/contract'
import type { Account } from '@stackquay/engines'

const execute = promisify(execFile)

export interface SystemUser extends Account {
  readonly name: string
}

export interface SystemUserOptions {
  /** The home that the passwd entry names; it is never made. Default: a folder that does not exist. */
  readonly home?: string
}

/**
 * The system user of this name, made when it is missing: locked, without a login shell, with a group of its own. Only for
 * root. A user of this name that somebody made for another purpose is refused and never changed. Two services may do this
 * at the same time. Throws `unavailable_here` with the reason and what to do.
 */
export async function ensureSystemUser(name: string, options: SystemUserOptions = {}): Promise<SystemUser> {
  const existing = await findUser(name)
  if (existing !== null) return verified(existing)
  await makeUser(name, options.home ?? '/nonexistent')
  const made = await findUser(name)
  if (made === null)
    throw unavailable(name, 'useradd reported success, but getent does not find the user.', 'Check nsswitch.conf.')
  return verified(made)
}

interface PasswdEntry {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly comment: string
  readonly shell: string
}

async function findUser(key: string): Promise<PasswdEntry | null> {
  const line = await getent('passwd', key)
  if (line === null) return null
  const [name = '', , uid, gid, comment = '', , shell = ''] = line.split(':')
  return { name, uid: Number(uid), gid: Number(gid), comment, shell }
}

/** The first line, or null when there is no such entry (exit code 2). */
async function getent(database: string, key: string): Promise<string | null> {
  try {
    const { stdout } = await execute('getent', [database, key])
    return stdout.split('\n')[0] ?? null
  } catch (error) {
    const { code } = error as { code?: number | string }
    if (code === 2) return null
    throw unavailable(
      key,
      code === 'ENOENT' ? 'getent is not installed.' : `getent failed: ${(error as Error).message.trim()}`,
      code === 'ENOENT' ? 'Install it: apt-get install -y libc-bin' : 'Check nsswitch.conf.',
    )
  }
}

/** What makes a user unfit is found here and nowhere else, so that one made a moment ago is looked at the same way. */
async function verified(user: PasswdEntry): Promise<SystemUser> {
  const deadline = Date.now() + settlesWithinMs
  let fault = faultOfEntry(user)
  // useradd writes one file after the other: what another service is making now is whole a moment later.
  while (fault === null) {
    fault = await faultOfSurroundings(user)
    if (fault === null) return { name: user.name, uid: user.uid, gid: user.gid }
    if (Date.now() > deadline) break
    await delay(100)
    fault = null
  }
  throw unavailable(
    user.name,
    `The user "${user.name}" exists for another purpose: ${fault}.`,
    'Rename or remove that user, then try again; the service makes its own. It never changes a user that exists.',
  )
}

const settlesWithinMs = 2_000

function faultOfEntry({ name, uid, comment, shell }: PasswdEntry): string | null {
  if (!(uid > 0)) return 'its uid is 0'
  // Above the range of system users stand people, unless the comment says that it was made here.
  if (uid >= 1000 && comment !== commentOf(name)) return `its uid is ${uid}, which is a person’s`
  if (!/\/(nologin|false)$/.test(shell)) return `it can log in with the shell ${shell === '' ? '/bin/sh' : shell}`
  return null
}

async function faultOfSurroundings({ name, uid, gid }: PasswdEntry): Promise<string | null> {
  const owner = await findUser(String(uid))
  if (owner?.name !== name) return `it shares the uid ${uid} with "${owner?.name}"`
  const group = (await getent('group', String(gid)))?.split(':')[0]
  if (gid === 0 || group !== name) return `its group is "${group ?? gid}", not one of its own`
  // Without an entry there is no password to log in with.
  const password = (await getent('shadow', name))?.split(':')[1] ?? '!'
  if (!/^[!*]/.test(password)) return 'it has a password, or needs none'
  return null
}

/** Another service, or an administrator, may be changing the users too: useradd then finds the file locked. */
async function makeUser(name: string, home: string): Promise<void> {
  await access('/etc', constants.W_OK).catch(() => {
    throw unavailable(
      name,
      'This machine’s list of users is read-only.',
      `Add the user where the machine is built: ${commandFor(name)}`,
    )
  })
  const shell = await firstProgram(['/usr/sbin/nologin', '/sbin/nologin', '/bin/false'])
  const deadline = Date.now() + lockedForMs
  for (;;) {
    const failure = await useradd([
      ...argumentsFor(name),
      '--home-dir',
      home,
      '--shell',
      shell,
      '--comment',
      commentOf(name),
      name,
    ])
    if (failure === null || (await findUser(name)) !== null) return
    if (!/cannot lock|try again later/i.test(failure) || Date.now() > deadline)
      throw unavailable(name, failure, `Make it yourself: ${commandFor(name)}`)
    await delay(100 + Math.random() * 200)
  }
}

const lockedForMs = 5_000

const argumentsFor = (_name: string) => ['--system', '--no-log-init', '--user-group', '--no-create-home']

function commandFor(name: string): string {
  return ['useradd', ...argumentsFor(name), '--home-dir /nonexistent --shell /usr/sbin/nologin', name].join(' ')
}

const commentOf = (name: string) => `Stackquay service user ${name}`

/** Null when it worked, else why not, in its own words. */
async function useradd(args: readonly string[]): Promise<string | null> {
  try {
    // The lock of useradd can be lost when several are at work. This one is of another kind, and is theirs together.
    const lock = (await programInPath('flock')) === null ? [] : ['flock', '-w', '15', '/etc/.pwd.lock']
    const [program = 'useradd', ...rest] = [...lock, 'useradd', ...args]
    if (lock.length > 0 && (await programInPath('useradd', searchPath())) === null) return useraddMissing
    await execute(program, rest, { env: { PATH: searchPath(), LC_ALL: 'C' } })
    return null
  } catch (error) {
    const { code, stderr } = error as { code?: number | string; stderr?: string }
    if (code === 'ENOENT') return useraddMissing
    const words = (stderr ?? '')
      .replace(/^useradd: /gm, '')
      .trim()
      .replaceAll('\n', ' ')
    return `useradd failed (${code}): ${words}`
  }
}

const useraddMissing = 'useradd is not installed (Debian: apt-get install -y passwd).'

/** Administrators’ programs may be missing in the PATH of a service. */
function searchPath(): string {
  const given = process.env.PATH
  return given === undefined || given === '' ? '/usr/sbin:/usr/bin:/sbin:/bin' : given
}

async function firstProgram(paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return '/bin/false'
}

/** Where a program of PATH is, or null. */
export async function programInPath(name: string, path = process.env.PATH ?? '/usr/bin:/bin'): Promise<string | null> {
  for (const folder of path.split(delimiter)) {
    if (folder === '') continue
    const file = join(folder, name)
    if (
      await access(file, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return file
  }
  return null
}

function unavailable(name: string, why: string, hint: string): ProblemError {
  return new ProblemError('unavailable_here', `The system user "${name}" is missing or cannot be used. ${why}`, {
    hint,
  })
}
