import type { GitChange } from '@stackquay/contract'
import { localAnswer, localFailure, localGit, localText } from '../source/local-git.ts'
import { type Acting, type GitAct, writing } from './acting.ts'
import { requireUnfiltered } from './lfs.ts'
import { counted, refused, requireNothingUnderWay, requireText } from './refusals.ts'
import { statusOf } from './state.ts'

export async function commit(act: Extract<GitAct, { act: 'commit' }>, acting: Acting): Promise<void> {
  const { repository, signal, say } = acting
  await requireNothingUnderWay(repository, signal)
  const { changed, commit: before } = await statusOf(repository, signal)
  const wanted = act.paths === null ? changed : changed.filter((change) => isMeant(change, act.paths!))
  const conflicts = wanted.filter(({ conflict }) => conflict).map(({ path }) => path)
  if (conflicts.length > 0)
    throw refused(`Files have conflicts: ${conflicts.slice(0, 10).join(', ')}.`, 'Resolve them in a terminal.')
  if (wanted.length === 0) {
    if (await isMade(act.message, acting)) return say('It is committed.')
    throw refused('Nothing is to be committed: no file that was named differs from the last commit.', 'See the status.')
  }
  const paths = wanted.flatMap(({ path, from }) => (from === null ? [path] : [from, path]))
  await requireUnfiltered(
    repository,
    wanted.filter(isThere).map(({ path }) => path),
    signal,
    'committed',
  )
  const everything = act.paths === null
  if (!everything) requireText(paths)
  const listed = everything ? undefined : `${paths.join('\0')}\0`
  const pathspec = everything ? ['--', '.'] : ['--pathspec-from-file=-', '--pathspec-file-nul']
  const staged = await localGit(repository, ['add', '--all', ...pathspec], {
    ...writing(acting),
    ...(listed === undefined ? {} : { input: listed }),
  })
  if (staged.code !== 0) throw localFailure('The files could not be staged', staged.words)
  const how = ['--quiet', '--no-verify', '--no-gpg-sign', '--no-edit', `--message=${act.message}`]
  const only = everything ? [] : ['--only', ...pathspec]
  const made = await localGit(repository, ['commit', ...how, ...only], {
    ...writing(acting, act.author),
    ...(listed === undefined ? {} : { input: listed }),
  })
  if (made.code !== 0) throw localFailure('git made no commit', made.words)
  const now = (await localAnswer(repository, ['rev-parse', 'HEAD'], { signal })).toString().trim()
  say(`${before === null ? 'The first commit' : 'Commit'} ${now.slice(0, 10)} of ${counted(wanted.length, 'file')}.`)
}

const isThere = ({ staged, unstaged }: GitChange) =>
  unstaged !== 'deleted' && !(staged === 'deleted' && unstaged === null)

/** A folder means all below it. */
export function isMeant({ path, from }: GitChange, paths: readonly string[]): boolean {
  return paths.some((one) => {
    const folder = one.endsWith('/') ? one : `${one}/`
    return [path, from].some((name) => name !== null && (name === one || name.startsWith(folder)))
  })
}

/** By this operation, before the service that carried it out went down. */
async function isMade(message: string, { repository, signal, askedAt }: Acting): Promise<boolean> {
  const text = await localText(repository, ['log', '--max-count=1', '--format=%ct%n%B', 'HEAD', '--'], { signal })
  const [time = '', ...lines] = (text ?? '').split('\n')
  return Number(time) * 1000 >= askedAt.getTime() - 1000 && lines.join('\n').trim() === message.trim()
}
