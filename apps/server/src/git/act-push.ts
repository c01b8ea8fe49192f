import { localGit, localText } from '../source/local-git.ts'
import { notAName } from './act-checkout.ts'
import type { Acting, GitAct } from './acting.ts'
import { isBranchName } from './ref-names.ts'
import { detached, refused } from './refusals.ts'
import { pushFrom, remoteBranch } from './remote.ts'
import { statusOf } from './state.ts'

export async function push(act: Extract<GitAct, { act: 'push' }>, acting: Acting): Promise<void> {
  const { repository, half, signal, say } = acting
  const branch = act.branch ?? (await statusOf(repository, signal)).branch
  if (branch === null) throw detached()
  if (!isBranchName(branch)) throw notAName(branch)
  const oid = (ref: string) =>
    localText(repository, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`], { signal })
  const commit = await oid(`refs/heads/${branch}`)
  if (commit === null) throw refused(`There is no branch "${branch}" with commits.`, 'Check it out, and commit.')
  const remote = await acting.remote()
  const there = await remoteBranch(branch, remote, half, acting)
  if (there === commit) return say(`The remote has ${branch} as it is here.`)
  const isForward = there === null || (await isAncestor(there, commit, acting))
  if (!isForward && !act.force)
    throw refused(
      `The remote has commits on ${branch} that this one has not (it is at ${there.slice(0, 10)}). Nothing was pushed.`,
      'Pull first; or push with "force" to replace them.',
    )
  const seen = await oid(`refs/remotes/origin/${branch}`)
  if (!isForward && seen !== there)
    throw refused(
      `Somebody has pushed to ${branch} since the last fetch (it is at ${there.slice(0, 10)}), so nothing was replaced.`,
      'Fetch, look at what came, then push again.',
    )
  await pushFrom(repository, { branch, commit, expected: there, force: !isForward }, remote, half, acting)
  say(`${branch} is at ${commit.slice(0, 10)} on the remote${there === null ? ', where it is new' : ''}.`)
}

/** What this side does not know is before nothing. */
async function isAncestor(one: string, other: string, { repository, signal }: Acting): Promise<boolean> {
  return (await localGit(repository, ['merge-base', '--is-ancestor', one, other], { signal })).code === 0
}
