import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Account } from '../projects/account.ts'

/**
 * Names the state of a source tree: the same name means that nothing in it was changed in between, so that a test that
 * passed and failed under one name is flaky. Null when nobody can tell at a small price: the tree is too large, or cannot be
 * read. What programs make (dependencies, caches, reports) does not count. Files are looked at, never opened.
 */
export async function sourceIdOf(path: string, signal: AbortSignal, account: Account | null): Promise<string | null> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
  try {
    const committed = await inRepository(path, account, bounded)
    const parts =
      committed === null
        ? await walk(path, bounded)
        : [committed.tree, ...(await looks(path, committed.changed, bounded))]
    return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 32)
  } catch {
    signal.throwIfAborted()
    return null
  }
}

/** The tree of the last commit, and what differs from it; null when it is no repository or has no commit. */
async function inRepository(path: string, account: Account | null, signal: AbortSignal) {
  const tree = await git(['rev-parse', '--verify', '--quiet', 'HEAD:./'], path, account, signal)
  if (tree === null) return null
  const status = await git(
    ['status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=all', '--ignore-submodules=dirty', '--', '.'],
    path,
    account,
    signal,
  )
  const prefix = await git(['rev-parse', '--show-prefix'], path, account, signal)
  if (status === null || prefix === null) return null
  return { tree: tree.trim(), changed: changedIn(status, prefix.replace(/\n$/, '')) }
}

/** Of `git status -z`: entries `XY path`, their paths relative to the folder, without what programs make. */
export function changedIn(status: string, prefix: string): readonly string[] {
  return status
    .split('\0')
    .filter((entry) => entry.length > 3)
    .map((entry) => ({ state: entry.slice(0, 2), path: entry.slice(3) }))
    .filter(({ state, path }) => state !== '??' || !path.split('/').some(isMade))
    .map(({ path }) => (path.startsWith(prefix) ? path.slice(prefix.length) : path))
    .sort()
}

/** Whether programs make a folder or file of this name, and a change of it is no change of the source. */
export function isMade(name: string): boolean {
  return made.has(name) || /\.(pyc|log|tmp|swp|egg-info)$/.test(name)
}

async function looks(folder: string, paths: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
  if (paths.length > maxFiles) throw tooLarge()
  const found: string[] = []
  for (const path of paths) {
    signal.throwIfAborted()
    found.push(await look(folder, path))
  }
  return found
}

async function look(folder: string, path: string): Promise<string> {
  const info = await lstat(join(folder, path), { bigint: true }).catch(() => null)
  return info === null ? `${path} -` : `${path} ${info.mode} ${info.size} ${info.mtimeNs}`
}

async function walk(root: string, signal: AbortSignal): Promise<readonly string[]> {
  const found: string[] = []
  const folders = ['']
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for await (const entry of await opendir(join(root, at))) {
      signal.throwIfAborted()
      if (isMade(entry.name) || entry.name === '.git') continue
      const path = join(at, entry.name)
      if (entry.isDirectory()) folders.push(path)
      else found.push(await look(root, path))
      if (found.length + folders.length > maxFiles) throw tooLarge()
    }
  }
  return found.sort()
}

/**
 * Null when git says no, or is not there. The repository may be anybody's: git runs as the account of the project's own
 * programs, without hooks, watchers, helpers or a network, and writes nothing.
 */
function git(
  args: readonly string[],
  cwd: string,
  account: Account | null,
  signal: AbortSignal,
): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>()
  const child = spawn('git', [...safely, ...args], {
    cwd,
    env: {
      PATH: process.env.PATH ?? '/usr/bin:/bin',
      HOME: '/nonexistent',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_OPTIONAL_LOCKS: '0',
      GIT_TERMINAL_PROMPT: '0',
      GIT_NO_LAZY_FETCH: '1',
      LC_ALL: 'C.UTF-8',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
    ...(account === null ? {} : { uid: account.uid, gid: account.gid }),
  })
  const end = () => {
    // Whoever got away with the other end is not waited for.
    child.stdout.destroy()
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // It has ended already.
    }
  }
  let size = 0
  const pieces: Buffer[] = []
  child.stdout.on('data', (piece: Buffer) => {
    size += piece.length
    pieces.push(piece)
    if (size > maxStatusBytes) end()
  })
  signal.addEventListener('abort', end, { once: true })
  child.on('error', () => resolve(null))
  child.on('close', (code) => {
    signal.removeEventListener('abort', end)
    if (signal.aborted) reject(signal.reason)
    else if (size > maxStatusBytes) reject(tooLarge())
    else resolve(code === 0 ? Buffer.concat(pieces).toString() : null)
  })
  return promise
}

const safely = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'credential.helper=',
  'protocol.allow=never',
  'safe.directory=*',
].flatMap((setting) => ['-c', setting])

const made: ReadonlySet<string> = new Set([
  'node_modules',
  'vendor',
  '.venv',
  'venv',
  '__pycache__',
  '.pytest_cache',
  '.mypy_cache',
  '.ruff_cache',
  '.tox',
  '.coverage',
  'htmlcov',
  'coverage',
  'test-results',
  'playwright-report',
  '.nyc_output',
  '.phpunit.cache',
  '.phpunit.result.cache',
  'target',
  'dist',
  'build',
  '.next',
  '.nuxt',
  '.cache',
  '.vite',
  '.turbo',
  '.bundle',
  'log',
  'tmp',
  '.DS_Store',
])

const maxFiles = 20_000
const maxStatusBytes = 8 << 20
const deadlineMs = 10_000

function tooLarge(): Error {
  return new Error('The source tree is too large to be named.')
}
