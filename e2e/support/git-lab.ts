import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Account } from '@stackquay/engines'
import { type Cloning, createCloning } from '../../apps/server/src/source/clone.ts'

const execute = promisify(execFile)

export const isRoot = process.getuid?.() === 0

/** A home, folders of projects, and users who own them: real ones when the tests run as root. */
export interface GitLab extends AsyncDisposable {
  /** Below it is all that the tests make; others may pass through. */
  readonly work: string
  readonly home: string
  readonly cloning: Cloning
  /** A user of the machine that is gone afterwards; null when the tests are an ordinary user, who is everybody. */
  user(name: string): Promise<Account | null>
  /** An empty folder of that user. */
  folder(name: string, owner: Account | null): Promise<string>
  /** Clones, and answers what a person saw meanwhile. */
  clone(url: string, folder: string, options?: CloneOptions): Promise<string>
  /** git(1) with nobody’s settings, as that user. */
  git(owner: Account | null, cwd: string, ...args: string[]): Promise<string>
  /** Mirrors that are there now. */
  mirrors(): Promise<readonly string[]>
}

export interface CloneOptions {
  readonly account?: Account | null
  readonly branch?: string
  readonly signal?: AbortSignal
}

export async function createGitLab(): Promise<GitLab> {
  const work = await mkdtemp(join(tmpdir(), 'stackquay-gitlab-'))
  await chmod(work, 0o711)
  const home = join(work, 'home')
  await mkdir(home, { mode: 0o711 })
  const users: string[] = []
  const cloning = createCloning(home, { certificates: {}, registries: {} })
  return {
    work,
    home,
    cloning,
    user: async (name) => {
      if (!isRoot) return null
      const login = `stqt-${name}-${randomBytes(3).toString('hex')}`
      users.push(login)
      await execute('useradd', [
        '--system',
        '--no-log-init',
        '--user-group',
        '--password',
        '*',
        '--home-dir',
        join(work, login),
        '--create-home',
        '--skel',
        '/nonexistent',
        '--shell',
        '/bin/sh',
        login,
      ])
      const [, , uid, gid] = (await execute('getent', ['passwd', login])).stdout.split(':')
      return { uid: Number(uid), gid: Number(gid) }
    },
    folder: async (name, owner) => {
      const path = join(work, name)
      await mkdir(path, { mode: 0o700 })
      if (owner !== null) await chown(path, owner.uid, owner.gid)
      return path
    },
    clone: async (url, folder, { account = null, branch, signal = AbortSignal.timeout(30_000) } = {}) => {
      let seen = ''
      const output = ({ text }: { text: string }) => {
        seen += text
      }
      await cloning.clone({ url, branch: branch ?? null }, folder, account, { signal, output } as never)
      return seen
    },
    git: async (owner, cwd, ...args) => {
      const as = owner === null ? {} : { uid: owner.uid, gid: owner.gid }
      const env = {
        PATH: process.env.PATH,
        HOME: '/nonexistent',
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_TERMINAL_PROMPT: '0',
      }
      return (await execute('git', args, { ...as, cwd, env })).stdout
    },
    mirrors: () => readdir(join(home, 'git', 'mirrors')),
    [Symbol.asyncDispose]: async () => {
      await rm(work, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
      for (const login of users) await execute('userdel', [login])
    },
  }
}

/** Processes that work below a folder: `pid command line`. */
export async function processesBelow(folder: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) => {
      const place = await readlink(`/proc/${pid}/cwd`).catch(() => '')
      if (place !== folder && !place.startsWith(`${folder}/`)) return []
      return [`${pid} ${(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ')}`]
    }),
  )
  return found.flat()
}
