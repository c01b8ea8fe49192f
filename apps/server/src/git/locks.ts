import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProblemError } from '@stackquay/contract'
import type { UserFiles } from '@stackquay/engines'
import type { Repository } from '../source/local-git.ts'
import { startProgram } from '../source/run-git.ts'

/**
 * A git that was killed leaves its locks, and every later one refuses to write. They are removed when no git works for the project;
 * one that works is waited for.
 */
export async function clearLocks(
  repository: Repository,
  files: Pick<UserFiles, 'of'>,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  for (let seconds = 0; ; seconds += 1) {
    const locks = await locksOf(repository, files, signal)
    if (locks.length === 0) return
    const worker = await gitAtWork(repository)
    if (worker === null) return remove(repository, locks, say)
    if (seconds >= mostSeconds)
      throw new ProblemError('git_refused', `Another git works in the repository (process ${worker}).`, {
        hint: `Wait for it, or end it. Its locks: ${locks.slice(0, 3).join(', ')}`,
      })
    await sleep(1000, undefined, { signal })
  }
}

const mostSeconds = 20

async function locksOf(
  { path, account }: Repository,
  files: Pick<UserFiles, 'of'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const skip = { names: ['objects', 'lfs', 'modules'], endings: [] }
  const found = await files.of(account).walk({ root: `${path}/.git`, maxEntries: 200_000, skip, signal })
  return found.map((one) => one.path).filter((name) => name.endsWith('.lock'))
}

async function remove({ path, account }: Repository, locks: readonly string[], say: (line: string) => void) {
  const names = locks.map((name) => `./${Buffer.from(name, 'latin1').toString('utf8')}`).slice(0, 1000)
  const program = await startProgram({
    argv: ['rm', '-f', '--', ...names],
    cwd: `${path}/.git`,
    account,
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' },
    stdio: 'ignore',
  })
  await program.ended
  say(`A git that was killed left ${names.length === 1 ? 'a lock' : 'locks'}, which nobody holds: removed.`)
}

/**
 * A process of git that may hold the locks: of the project’s own user, wherever it runs (in a container too); of a user that
 * several projects have, in this repository. Where nobody can tell, one may be there.
 */
async function gitAtWork({ path, account }: Repository): Promise<string | null> {
  const isOwn = account !== null && account.uid !== process.getuid?.()
  const pids = await readdir('/proc').catch(() => null)
  if (pids === null) return 'unknown'
  for (const pid of pids) {
    if (!/^\d+$/.test(pid)) continue
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')
    if (!/^git\b/.test(name)) continue
    const owner = await stat(`/proc/${pid}`).catch(() => null)
    if (isOwn ? owner?.uid !== account.uid : !(await worksBelow(pid, path))) continue
    return pid
  }
  return null
}

async function worksBelow(pid: string, path: string): Promise<boolean> {
  const place = await readlink(`/proc/${pid}/cwd`).catch(() => '')
  return place === path || place.startsWith(`${path}/`)
}
