import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import type { Account, ProjectFiles } from '@stackquay/engines'
import { asOptions, gitEnvironment, localSettings } from '../source/git-settings.ts'

/**
 * Names the state of a source tree: the same name means that nothing in it was changed in between, so that a test that
 * passed and failed under one name is flaky. Null when nobody can tell at a small price: the tree is too large, or cannot be
 * read. What programs make (dependencies, caches, reports) does not count. Files are looked at, never opened.
 */
export async function sourceIdOf(
  path: string,
  signal: AbortSignal,
  { account, files }: { readonly account: Account | null; readonly files: ProjectFiles },
): Promise<string | null> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
  try {
    const committed = await inRepository(path, account, bounded)
    const parts =
      committed === null
        ? await walk(files, path, bounded)
        : [committed.tree, ...(await looks(files, path, committed.changed, bounded))]
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
  return made.has(name) || madeEndings.some((ending) => name.endsWith(ending))
}

async function looks(
  files: ProjectFiles,
  root: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (paths.length > maxFiles) throw tooLarge()
  const found = await files.statMany({ root, paths, signal })
  return paths.map((path, index) => `${path} ${found[index]?.mark ?? '-'}`)
}

async function walk(files: ProjectFiles, root: string, signal: AbortSignal): Promise<readonly string[]> {
  const skip = { names: [...made, '.git'], endings: madeEndings }
  const found = await files.walk({ root, maxEntries: maxFiles, skip, signal })
  return found.map(({ path, mark }) => `${path} ${mark}`).sort()
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
  const child = spawn('git', [...asOptions(localSettings), ...args], {
    cwd,
    env: gitEnvironment(),
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
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    chunks.push(chunk)
    if (size > maxStatusBytes) end()
  })
  signal.addEventListener('abort', end, { once: true })
  child.on('error', () => resolve(null))
  child.on('close', (code) => {
    signal.removeEventListener('abort', end)
    if (signal.aborted) reject(signal.reason)
    else if (size > maxStatusBytes) reject(tooLarge())
    else resolve(code === 0 ? Buffer.concat(chunks).toString() : null)
  })
  return promise
}

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

const madeEndings = ['.pyc', '.log', '.tmp', '.swp', '.egg-info']

const maxFiles = 20_000
const maxStatusBytes = 8 << 20
const deadlineMs = 10_000

function tooLarge(): Error {
  return new Error('The source tree is too large to be named.')
}
