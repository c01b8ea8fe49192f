import { randomBytes } from 'node:crypto'
import type { GitChange } from '@stackquay/contract'
import { localAnswer, localFailure, localGit } from '../source/local-git.ts'
import { startProgram } from '../source/run-git.ts'
import { isMeant } from './act-commit.ts'
import { type Acting, writing } from './acting.ts'
import { requireUnfiltered } from './lfs.ts'
import { counted, requireNothingUnderWay, requireText } from './refusals.ts'
import { statusOf } from './state.ts'

/**
 * Files go back to what was committed last; those that git does not follow go. Everything is kept first: as a commit under
 * `refs/stackquay/discarded`, which no branch has and no git removes.
 */
export async function discard(paths: readonly string[], acting: Acting): Promise<void> {
  const { repository, signal, say } = acting
  await requireNothingUnderWay(repository, signal)
  const { changed, commit } = await statusOf(repository, signal)
  const meant = changed.filter((change) => isMeant(change, paths))
  if (meant.length === 0) return say('Nothing that was named differs from the last commit.')
  requireText(meant.map(({ path }) => path))
  await requireUnfiltered(
    repository,
    meant.map(({ path }) => path),
    signal,
    'discarded',
  )
  const ref = await keep(meant, commit, acting)
  say(`Kept as ${ref} (to have a file back: git checkout ${ref} -- <file>)`)
  const names = (wanted: readonly GitChange[]) =>
    wanted.flatMap(({ path, from }) => (from === null ? [path] : [from, path]))
  const untracked = meant.filter(({ unstaged }) => unstaged === 'untracked')
  const followed = meant.filter((change) => !untracked.includes(change))
  if (followed.length > 0) await restore(names(followed), commit, acting)
  if (untracked.length > 0) await clean(names(untracked), acting)
}

/** Through an index of its own, so that what is staged stays staged until it was kept. */
async function keep(meant: readonly GitChange[], commit: string | null, acting: Acting): Promise<string> {
  const { repository } = acting
  const id = `${new Date()
    .toISOString()
    .replace(/\.\d+Z$/, '')
    .replaceAll(/[-:T]/g, '')}-${randomBytes(2).toString('hex')}`
  const index = `${repository.path}/.git/stackquay-discard-${id}`
  const how = writing(acting)
  const beside = { ...how, env: { ...how.env, GIT_INDEX_FILE: index } }
  try {
    await localAnswer(repository, commit === null ? ['read-tree', '--empty'] : ['read-tree', commit], beside)
    const paths = meant.flatMap(({ path, from }) => (from === null ? [path] : [from, path]))
    const input = `${paths.join('\0')}\0`
    const args = ['-c', 'core.autocrlf=false', 'update-index', '--add', '--remove', '-z', '--stdin']
    const { code, words } = await localGit(repository, args, { ...beside, input })
    if (code !== 0) throw localFailure('The files could not be kept, so nothing was discarded', words)
    const tree = (await localAnswer(repository, ['write-tree'], beside)).toString().trim()
    const parents = commit === null ? [] : ['-p', commit]
    const made = ['commit-tree', ...parents, '-m', `Discarded: ${counted(paths.length, 'file')}`, tree]
    const kept = (await localAnswer(repository, made, how)).toString().trim()
    const ref = `refs/stackquay/discarded/${id}`
    await localAnswer(repository, ['update-ref', ref, kept, ''], how)
    return ref
  } finally {
    await removeIndex(index, acting)
  }
}

async function removeIndex(index: string, { repository }: Acting): Promise<void> {
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' }
  const argv = ['rm', '-f', '--', index, `${index}.lock`]
  const program = await startProgram({ argv, cwd: repository.path, account: repository.account, env, stdio: 'ignore' })
  await program.ended
}

async function restore(paths: readonly string[], commit: string | null, acting: Acting): Promise<void> {
  const input = `${paths.join('\0')}\0`
  const from = ['--pathspec-from-file=-', '--pathspec-file-nul']
  const args =
    commit === null
      ? ['rm', '--force', '--quiet', '--ignore-unmatch', ...from]
      : ['restore', '--source=HEAD', '--staged', '--worktree', ...from]
  const { code, words } = await localGit(acting.repository, args, { ...writing(acting), input })
  if (code !== 0) throw localFailure('The files could not be put back', words)
}

async function clean(paths: readonly string[], acting: Acting): Promise<void> {
  for (let at = 0; at < paths.length; at += 200) {
    const args = ['clean', '--force', '-d', '--quiet', '--', ...paths.slice(at, at + 200)]
    const { code, words } = await localGit(acting.repository, args, writing(acting))
    if (code !== 0) throw localFailure('The files could not be removed', words)
  }
}
