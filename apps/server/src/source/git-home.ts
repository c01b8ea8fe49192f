import { execFile, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { chmod, lchown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ProblemError } from '@stackquay/contract'
import type { Account, NetworkEnvironment } from '@stackquay/engines'
import { ensureSystemUser, type SystemUser } from '../users/system-user.ts'

const execute = promisify(execFile)

/** The user that talks to repositories elsewhere, and alone knows credentials. */
export const gitUserName = 'stq-git'

/** What git has of its own below the home: nobody but its user can enter. */
export interface GitHome {
  readonly folder: string
  readonly knownHosts: string
  /** Null when the service is not root: one user for all. */
  readonly user: SystemUser | null
  /** Runs `act` with a new empty folder, which is gone afterwards, however it ends. */
  withMirror<T>(act: (folder: string) => Promise<T>): Promise<T>
  /** A file in a mirror. */
  write(path: string, text: string): Promise<void>
  /** The same with a name for the socket of an agent, where nothing lies yet. */
  withSocket<T>(act: (path: string) => Promise<T>): Promise<T>
}

/** What git’s own user works with. */
export interface NetworkHalf {
  readonly gitHome: () => Promise<GitHome>
  readonly network: NetworkEnvironment
}

/**
 * Made at the first use, so that no user is added to a machine that clones nothing. What a killed service left there is
 * removed now. A failure is not remembered: the next try may succeed.
 */
export function createGitHomes(home: string): () => Promise<GitHome> {
  const folder = join(home, 'git')
  const mirrors = join(folder, 'mirrors')
  // Listed before anything else can make one, removed by whoever owns them, and never waited for.
  const leftovers = namesIn(mirrors)
  let ready: Promise<GitHome> | null = null

  const prepare = async (): Promise<GitHome> => {
    const user = process.getuid?.() === 0 ? await ensureSystemUser(gitUserName) : null
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
    if (user !== null) await lchown(folder, user.uid, user.gid)
    await asGit(user, ['mkdir', '-p', '-m', '700', '--', mirrors])
    void Promise.all(leftovers.map((name) => asGit(user, ['rm', '-rf', '--', join(mirrors, name)]))).catch(
      () => undefined,
    )
    return {
      folder,
      knownHosts: join(folder, 'known_hosts'),
      user,
      withMirror: (act) => withMirror(mirrors, user, act),
      write: (path, text) => writeAs(user, path, text),
      withSocket: (act) => withSocket(mirrors, user, act),
    }
  }
  const get = () => {
    ready ??= prepare().catch((error: unknown) => {
      ready = null
      throw error
    })
    return ready
  }
  if (leftovers.length > 0) void get().catch(() => undefined)
  return get
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

async function withMirror<T>(
  mirrors: string,
  user: SystemUser | null,
  act: (folder: string) => Promise<T>,
): Promise<T> {
  const mirror = join(mirrors, randomUUID())
  await asGit(user, ['mkdir', '-m', '700', '--', mirror])
  try {
    return await act(mirror)
  } finally {
    // What cannot be removed now is removed when the service starts again.
    await asGit(user, ['rm', '-rf', '--', mirror]).catch(() => undefined)
  }
}

/** Short, for the path of a socket may be no longer than some 100 bytes. */
async function withSocket<T>(mirrors: string, user: SystemUser | null, act: (path: string) => Promise<T>): Promise<T> {
  const socket = join(mirrors, randomBytes(4).toString('hex'))
  try {
    return await act(socket)
  } finally {
    await asGit(user, ['rm', '-f', '--', socket]).catch(() => undefined)
  }
}

async function writeAs(user: SystemUser | null, path: string, text: string): Promise<void> {
  const writer = spawn('dd', ['status=none', `of=${path}`], {
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
    cwd: '/',
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  writer.stdin.on('error', () => undefined)
  writer.stdin.end(text)
  const [code] = await once(writer, 'close')
  if (code !== 0) throw new ProblemError('io_failed', 'A file of git could not be written.')
}

/** Root touches nothing below the folder by itself. */
async function asGit(user: Account | null, [program = '', ...args]: readonly string[]): Promise<void> {
  const options = user === null ? {} : { uid: user.uid, gid: user.gid }
  try {
    await execute(program, args, {
      ...options,
      cwd: '/',
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' },
    })
  } catch (error) {
    const { stderr } = error as { stderr?: string }
    const full = /No space left on device|quota exceeded/i.test(stderr ?? '')
    throw new ProblemError(
      full ? 'disk_full' : 'io_failed',
      `A folder of git could not be changed: ${(stderr ?? String(error)).trim()}`,
      {
        hint: full ? 'Free some space and try again.' : 'Check the rights and the file system of the home.',
      },
    )
  }
}
