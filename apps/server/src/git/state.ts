import type { GitState } from '@stackquay/contract'
import { type LocalOptions, localAnswer, localText } from '../source/local-git.ts'
import { readStatus, type StatusRead } from './read-status.ts'
import type { OpenRepository } from './repository.ts'

/** What is on disk, without what the service keeps beside it. */
export type LocalState = Omit<GitState, 'repository' | 'reason' | 'url' | 'credentials' | 'deployKey' | 'hostKeys'>

export const noState: LocalState = {
  origin: null,
  branch: null,
  commit: null,
  upstream: null,
  ahead: null,
  behind: null,
  doing: null,
  changed: [],
  changedTotal: 0,
  stashed: 0,
  submodules: [],
  lfsFiles: 0,
  shallow: false,
}

const mostShown = 1000

/** Writes nothing, asks no submodule, and starts nothing. */
export async function statusOf(repository: OpenRepository, signal: AbortSignal): Promise<StatusRead> {
  const args = ['status', '--porcelain=v2', '--branch', '-z', '--untracked-files=all', '--ignore-submodules=dirty']
  return readStatus((await localAnswer(repository, args, { signal, maxBytes: 32 << 20 })).toString('utf8'))
}

export async function localState(repository: OpenRepository, signal: AbortSignal): Promise<LocalState> {
  const asks: LocalOptions = { signal, timeoutMs: 20_000 }
  const [status, origin, stashed, submodules, lfs, shallow, doing] = await Promise.all([
    statusOf(repository, signal),
    localText(repository, ['config', '--get', 'remote.origin.url'], asks),
    localText(repository, ['rev-list', '--walk-reflogs', '--count', 'refs/stash', '--'], asks),
    submodulesOf(repository, asks),
    localText(repository, ['ls-files', '-z', '--', ':(attr:filter=lfs)'], {
      ...asks,
      env: { GIT_LITERAL_PATHSPECS: '0' },
      cuts: true,
    }),
    localText(repository, ['rev-parse', '--is-shallow-repository'], asks),
    underWay(repository, asks),
  ])
  const upstream = status.branch === null ? null : await upstreamOf(repository, status.branch, asks)
  const counts = upstream === null || status.commit === null ? null : await aheadBehind(repository, upstream, asks)
  return {
    origin: origin === null ? null : withoutPassword(origin),
    branch: status.branch,
    commit: status.commit,
    upstream,
    ahead: counts?.ahead ?? null,
    behind: counts?.behind ?? null,
    doing,
    changed: status.changed.slice(0, mostShown),
    changedTotal: status.changed.length,
    stashed: Number(stashed ?? 0) || 0,
    submodules,
    lfsFiles: (lfs ?? '').split('\0').filter((path) => path !== '').length,
    shallow: shallow === 'true',
  }
}

/** `origin/main`: what the configuration says, else the branch of the same name; null where no fetch has shown one. */
export async function upstreamOf(
  repository: OpenRepository,
  branch: string,
  asks: LocalOptions,
): Promise<string | null> {
  const listed = await localText(repository, ['for-each-ref', '--format=%(upstream)', `refs/heads/${branch}`], asks)
  const named = (listed ?? '').split('\n')[0]!
  const wanted = named.startsWith('refs/remotes/origin/') ? named : `refs/remotes/origin/${branch}`
  const there = await localText(repository, ['rev-parse', '--verify', '--quiet', `${wanted}^{commit}`], asks)
  return there === null ? null : wanted.slice('refs/remotes/'.length)
}

export async function aheadBehind(
  repository: OpenRepository,
  upstream: string,
  asks: LocalOptions,
): Promise<{ readonly ahead: number; readonly behind: number } | null> {
  const range = `HEAD...refs/remotes/${upstream}`
  const text = await localText(repository, ['rev-list', '--left-right', '--count', range, '--'], asks)
  const [, ahead, behind] = /^(\d+)\s+(\d+)$/.exec(text ?? '') ?? []
  return ahead === undefined ? null : { ahead: Number(ahead), behind: Number(behind) }
}

/** By what is staged: the file on disk may be anything. */
async function submodulesOf(repository: OpenRepository, asks: LocalOptions): Promise<string[]> {
  const args = ['config', '-z', '--blob', ':.gitmodules', '--get-regexp', '^submodule\\..*\\.path$']
  const text = await localText(repository, args, { ...asks, cuts: true, maxBytes: 1 << 20 })
  return (text ?? '')
    .split('\0')
    .flatMap((entry) => (entry.includes('\n') ? [entry.slice(entry.indexOf('\n') + 1)] : []))
    .slice(0, 500)
}

const signs = [
  ['MERGE_HEAD', 'merge'],
  ['REBASE_HEAD', 'rebase'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['refs/bisect/bad', 'bisect'],
] as const

export async function underWay(repository: OpenRepository, asks: LocalOptions): Promise<LocalState['doing']> {
  for (const [ref, doing] of signs)
    if ((await localText(repository, ['rev-parse', '--verify', '--quiet', ref], asks)) !== null) return doing
  return null
}

/** A URL in a configuration may hold a password, which is for nobody’s eyes. */
export function withoutPassword(url: string): string {
  return url
    .slice(0, 2000)
    .replace(/[\p{Cc}\p{Cf}]/gu, '�')
    .replace(/^([A-Za-z0-9+.-]+:\/\/)[^/]*@/, '$1')
}
