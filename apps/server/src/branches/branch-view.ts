import type { BranchEnvironment } from '@stackquay/contract'
import { branchFate } from '@stackquay/domain'
import type { BranchRow, ProjectRow, Store } from '@stackquay/store'
import type { Repositories } from '../git/repository.ts'
import { aheadBehind, statusOf, upstreamOf } from '../git/state.ts'
import type { Model } from '../projects/model.ts'
import type { Resolver } from '../projects/resolver.ts'
import { localText } from '../source/local-git.ts'
import { branchSettings } from './create-environment.ts'

export interface BranchViewDeps {
  readonly store: Store
  readonly model: Pick<Model, 'find' | 'status'>
  readonly resolver: Pick<Resolver, 'host' | 'urlOf'>
  readonly repositories: Repositories
  readonly now: () => Date
}

/** Environments of a project: those that are remembered, and those that came back from the trash to a project that came back later. */
export async function branchesOf(parent: ProjectRow, { store }: Pick<BranchViewDeps, 'store'>): Promise<BranchRow[]> {
  const rows = await store.branches.of(parent.id)
  const known = new Set(rows.map(({ project }) => project))
  const back = (await store.projects.all()).flatMap((row) => {
    if (row.source?.kind !== 'branch' || row.source.of !== parent.id || known.has(row.id)) return []
    const { branch } = row.source
    if (rows.some((one) => one.branch === branch)) return []
    const nothing = { seenCommit: null, goneAt: null, warning: null, pullRequest: null }
    return [{ parent: parent.id, branch, project: row.id, actor: 'trash', createdAt: row.createdAt, ...nothing }]
  })
  return [...rows, ...back]
}

export async function branchView(
  parent: ProjectRow,
  row: BranchRow,
  deps: BranchViewDeps,
  signal: AbortSignal,
): Promise<BranchEnvironment> {
  const { store, model, resolver, now } = deps
  const project = row.project === null ? null : await store.projects.find(row.project)
  const git = project === null || project.phase !== 'ready' ? null : await gitOf(project, deps, signal)
  const { at } = branchFate({ goneAt: row.goneAt, unsaved: null }, branchSettings(parent).keepDays, now())
  return {
    branch: row.branch,
    project: project?.id ?? null,
    slug: project?.slug ?? null,
    url: project === null ? null : resolver.urlOf(resolver.host(project.slug)),
    state:
      project === null
        ? 'awaiting-approval'
        : model.find(project.id) === null
          ? 'unknown'
          : model.status(project.id).state,
    commit: git?.commit ?? null,
    ahead: git?.ahead ?? null,
    behind: git?.behind ?? null,
    gone: row.goneAt,
    removeAt: at,
    warning: row.warning ?? (row.pullRequest?.closed === true ? closedText : null),
    missingSecrets: project === null ? [] : missingSecrets(parent, project),
    pullRequest: row.pullRequest,
    actor: row.actor,
    createdAt: row.createdAt,
  }
}

const closedText = 'Its pull request is closed: it stays until somebody deletes it.'

function missingSecrets(parent: ProjectRow, { spec }: ProjectRow): string[] {
  const secret = Object.entries(parent.spec.env).filter(([, variable]) => variable.secret)
  return secret.map(([name]) => name).filter((name) => !Object.hasOwn(spec.env, name))
}

/** What cannot be read is not known: the list is shown all the same. */
async function gitOf(project: ProjectRow, { repositories }: Pick<BranchViewDeps, 'repositories'>, signal: AbortSignal) {
  try {
    const { repository } = await repositories.look(project, signal)
    if (repository === null) return null
    const { commit, branch } = await statusOf(repository, signal)
    const asks = { signal, timeoutMs: 10_000 }
    const upstream = branch === null ? null : await upstreamOf(repository, branch, asks)
    const counts = upstream === null || commit === null ? null : await aheadBehind(repository, upstream, asks)
    return { commit, ahead: counts?.ahead ?? null, behind: counts?.behind ?? null }
  } catch {
    signal.throwIfAborted()
    return null
  }
}

/** Whether it has files or commits that are nowhere else. Null: that cannot be known. */
export async function hasUnsaved(
  project: ProjectRow,
  seenCommit: string | null,
  { repositories }: Pick<BranchViewDeps, 'repositories'>,
  signal: AbortSignal,
): Promise<boolean | null> {
  try {
    const { repository } = await repositories.look(project, signal)
    if (repository === null) return null
    const { changed } = await statusOf(repository, signal)
    if (changed.length > 0) return true
    const asks = { signal, timeoutMs: 20_000 }
    // A push that was told of may not have been fetched yet.
    const known = seenCommit !== null && (await localText(repository, ['cat-file', '-e', seenCommit], asks)) !== null
    const not = ['--not', '--remotes', ...(known ? [seenCommit] : [])]
    // A deploy that took a rewritten history kept what was there of the one before.
    const args = ['rev-list', '--count', '--exclude=kept/*', '--branches', 'HEAD', ...not]
    const seen = await localText(repository, args, asks)
    return seen === null ? null : seen !== '0'
  } catch {
    signal.throwIfAborted()
    return null
  }
}
