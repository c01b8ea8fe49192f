import { localFailure, localGit, localText } from '../source/local-git.ts'
import { type Acting, type GitAct, writing } from './acting.ts'
import { tellLfs } from './lfs.ts'
import { isBranchName } from './ref-names.ts'
import { refused, requireClean } from './refusals.ts'

export async function checkout(
  { branch, create }: Extract<GitAct, { act: 'checkout' }>,
  acting: Acting,
): Promise<void> {
  const { repository, signal, say } = acting
  const status = await requireClean(repository, signal, 'a checkout')
  if (!isBranchName(branch)) throw notAName(branch)
  const there = async (ref: string) =>
    (await localText(repository, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`], { signal })) !== null
  const isLocal = await there(`refs/heads/${branch}`)
  // Done again after a crash, or by a person meanwhile.
  if (status.branch === branch && (isLocal || !create)) return say(`${branch} is checked out.`)
  if (create && isLocal) throw refused(`There is a branch "${branch}" already.`, 'Choose another name.')
  const remote = `refs/remotes/origin/${branch}`
  if (!create && !isLocal && !(await there(remote)))
    throw refused(`There is no branch "${branch}", here or as of the last fetch.`, 'Fetch, or make it.')
  const target = isLocal ? [branch] : ['-c', branch, ...(create ? [] : [remote])]
  const args = ['switch', '--no-guess', '--no-progress', '--no-recurse-submodules', ...target]
  const { code, words } = await localGit(repository, args, writing(acting))
  if (code !== 0) throw localFailure(`"${branch}" could not be checked out`, words)
  await tellLfs(repository, signal, say)
}

export const notAName = (branch: string) =>
  refused(`"${branch}" is no name of a branch.`, 'See git-check-ref-format(1) for what git takes.')
