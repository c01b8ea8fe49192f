import type { GitPullManner } from '@stackquay/contract'
import { localAnswer, localFailure, localGit, localText } from '../source/local-git.ts'
import { type Acting, writing } from './acting.ts'
import { tellLfs } from './lfs.ts'
import { counted, detached, refused, requireClean } from './refusals.ts'
import { fetchInto } from './remote.ts'
import { aheadBehind, statusOf, underWay, upstreamOf } from './state.ts'

/** Fetches, then brings the branch to what the remote has. Nothing is touched before all that could refuse it was asked. */
export async function pull(manner: GitPullManner, acting: Acting): Promise<void> {
  const { repository, signal, say } = acting
  await finishCutOff(acting)
  const { branch, commit } = await requireClean(repository, signal, 'a pull')
  if (branch === null) throw detached()
  await fetchInto(repository, await acting.remote(), acting.half, acting)
  const upstream = await upstreamOf(repository, branch, { signal })
  if (upstream === null) throw refused(`The remote has no branch "${branch}".`, 'Push it, or check another out.')
  const target = await localAnswer(repository, ['rev-parse', '--verify', `refs/remotes/${upstream}^{commit}`], {
    signal,
  })
  const to = target.toString().trim()
  const counts = commit === null ? { ahead: 0, behind: 1 } : await aheadBehind(repository, upstream, { signal })
  const { ahead, behind } = counts ?? { ahead: 1, behind: 1 }
  if (behind === 0 && !(manner === 'reset' && ahead > 0)) return say(`${branch} has all that ${upstream} has.`)
  if (ahead > 0 && manner === 'fast-forward')
    throw refused(
      `${branch} and ${upstream} have gone different ways: ${counted(ahead, 'commit')} here, ${behind} there. Nothing was changed.`,
      'Pull with manner "merge", or with "reset" to take the remote and keep yours as a branch of its own.',
      { ahead, behind },
    )
  if (ahead > 0 && manner === 'merge') await merge(branch, upstream, to, acting)
  else {
    if (ahead > 0) await keep(branch, commit!, acting)
    await moveTo(commit, to, acting)
  }
  await tellLfs(repository, signal, say)
}

/** Files first, then the branch: git refuses before it begins where a file that it does not follow is in the way. */
export async function moveTo(from: string | null, to: string, acting: Acting): Promise<void> {
  const { repository } = acting
  const args = from === null ? ['read-tree', '-m', '-u', to] : ['reset', '--keep', to]
  const { code, words } = await localGit(repository, args, writing(acting))
  if (code !== 0) throw localFailure('The files could not be replaced', words)
  if (from === null) await localAnswer(repository, ['update-ref', 'HEAD', to], writing(acting))
  acting.say(`The head is at ${to.slice(0, 10)}.`)
}

/** Looked at first without a file being touched: conflicts are nothing for people who are not at a terminal. */
async function merge(branch: string, upstream: string, to: string, acting: Acting): Promise<void> {
  const { repository, signal } = acting
  const look = ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', 'HEAD', to]
  const { code, stdout, words } = await localGit(repository, look, { signal })
  if (code === 1) {
    const names = [...new Set(stdout.toString('utf8').split('\0').slice(1))].filter((name) => name !== '')
    throw refused(
      `${branch} and ${upstream} changed the same lines: ${names.slice(0, 10).join(', ')}. Nothing was changed.`,
      'Merge them in a terminal of the project: git merge '.concat(upstream),
      { conflicts: names.slice(0, 200) },
    )
  }
  if (code !== 0) throw localFailure('The two sides cannot be merged', words)
  const tree = stdout.toString('utf8').split('\0')[0]!.trim()
  const message = `Merge remote-tracking branch 'origin/${branch}'`
  const made = await localAnswer(
    repository,
    ['commit-tree', '-p', 'HEAD', '-p', to, '-m', message, tree],
    writing(acting),
  )
  await moveTo('HEAD', made.toString().trim(), acting)
}

/** The commits that only this side has stay reachable under a name that says why. */
export async function keep(branch: string, commit: string, acting: Acting): Promise<void> {
  const time = new Date()
    .toISOString()
    .replace(/\.\d+Z$/, '')
    .replaceAll(/[-:T]/g, '')
  // Two may come within one second; the same commit needs no second name.
  const name = `kept/${branch}-${time}-${commit.slice(0, 7)}`
  await localAnswer(acting.repository, ['update-ref', `refs/heads/${name}`, commit], writing(acting))
  acting.say(`What was on ${branch} is kept as the branch ${name}.`)
}

/** The machine may have gone down after the files were written and before the branch was moved: nothing is anybody’s then. */
async function finishCutOff(acting: Acting): Promise<void> {
  const { repository, signal } = acting
  const { branch, changed } = await statusOf(repository, signal)
  if (branch === null || changed.length === 0 || (await underWay(repository, { signal })) !== null) return
  if (changed.some(({ unstaged }) => unstaged !== null)) return
  const upstream = await upstreamOf(repository, branch, { signal })
  if (upstream === null || (await aheadBehind(repository, upstream, { signal }))?.ahead !== 0) return
  const tree = await localText(repository, ['write-tree'], { signal })
  const theirs = await localText(repository, ['rev-parse', `refs/remotes/${upstream}^{tree}`], { signal })
  if (tree === null || tree !== theirs) return
  await localAnswer(repository, ['reset', '--soft', `refs/remotes/${upstream}`], writing(acting))
  acting.say('A pull that was cut off is finished.')
}
