import type { BranchPullRequest, Forge } from '@stackquay/contract'
import { forkBranch, type PullRequestCommit, type PullRequestEvent } from '@stackquay/domain'
import { type BranchRow, newId, type ProjectRow } from '@stackquay/store'
import { isBranchName } from '../git/ref-names.ts'
import type { RequestContext } from '../http/handler.ts'
import { type BranchViewDeps, hasUnsaved } from './branch-view.ts'
import { branchSettings, createEnvironment, type EnvironmentDeps } from './create-environment.ts'
import { removeEnvironment } from './keeper.ts'

export type PullRequestDeps = EnvironmentDeps & Pick<BranchViewDeps, 'repositories'>

/** What follows of a delivery about a pull request: a reason where nothing does. */
export type Followed = { readonly deploy: string | null; readonly reason: string | null }

const nothing = (reason: string): Followed => ({ deploy: null, reason })

/**
 * An environment for a pull request, another commit of it, or its end. One from a fork waits for a person: its commits are code of anybody.
 */
export async function followPullRequest(
  parent: ProjectRow,
  event: PullRequestEvent,
  forge: Forge,
  context: RequestContext,
  deps: PullRequestDeps,
): Promise<Followed> {
  if (event.act === 'close') return close(parent, event.number, deps, context)
  const branch = event.fork ? forkBranch(event.number) : event.branch
  if (!isBranchName(branch)) return nothing('Its branch has a name that git does not take.')
  const known = await deps.store.branches.find(parent.id, branch)
  if (!branchSettings(parent).pullRequests)
    return nothing('Pull requests get no environments here: branches.pullRequests is off.')
  if (event.fork) return wait(parent, branch, known, event, forge, context, deps)
  const pullRequest: BranchPullRequest = { ...shown(event, forge), head: event.head, waiting: null }
  if (known?.project == null) {
    const settings = branchSettings(parent)
    const wanted = { branch, create: false, databases: settings.databases, start: true, ref: null, pullRequest }
    const { operation } = await createEnvironment(parent, wanted, context, deps)
    const [deploy] = await deps.store.deploys.list({ project: operation.project!, limit: 1 })
    return { deploy: deploy?.id ?? null, reason: null }
  }
  await deps.store.transaction((tx) => tx.branches.update(parent.id, branch, { pullRequest }))
  return event.act === 'open'
    ? nothing('The branch has an environment already.')
    : deployHead(known.project, branch, event.head, forge, context, deps)
}

const shown = ({ number, title, url, fork }: PullRequestCommit, forge: Forge) => ({ number, title, url, fork, forge })

/** A push tells of the same commit; whichever comes first deploys it. */
async function deployHead(
  project: string,
  branch: string,
  commit: string,
  forge: Forge,
  { actor }: RequestContext,
  { store }: PullRequestDeps,
): Promise<Followed> {
  return store.transaction(async (tx) => {
    const [last] = await store.deploys.list({ project, limit: 1 })
    if (last?.commit === commit) return nothing('The commit is deployed already.')
    await tx.deploys.supersede(project, `A newer push came: ${commit.slice(0, 10)}.`)
    const id = newId('dpl')
    const deploy = { id, project, trigger: 'push', actor, forge, state: 'waiting', branch, commit } as const
    await tx.deploys.insert({ ...deploy, operation: null })
    return { deploy: id, reason: null }
  })
}

async function wait(
  parent: ProjectRow,
  branch: string,
  known: BranchRow | null,
  event: PullRequestCommit,
  forge: Forge,
  { actor }: RequestContext,
  { store }: PullRequestDeps,
): Promise<Followed> {
  if (known !== null && known.pullRequest?.fork !== true)
    return nothing(`There is an environment of a branch ${branch}.`)
  const before = known?.pullRequest ?? null
  if (known?.project != null && before?.head === event.head) return nothing('The commit is deployed already.')
  const waiting = { ...shown(event, forge), head: before?.head ?? event.head, waiting: event.head }
  const waits = (await store.branches.of(parent.id)).filter(({ project }) => project === null).length
  if (known === null && waits >= mostWaiting) return nothing(`${mostWaiting} pull requests of forks wait already.`)
  await store.transaction(async (tx) => {
    if (known === null)
      await tx.branches.put({
        ...{ parent: parent.id, branch, project: null, actor, pullRequest: waiting },
        ...{ seenCommit: null, goneAt: null, warning: null },
      })
    else await tx.branches.update(parent.id, branch, { pullRequest: waiting })
    const data = { branch, environment: known?.project ?? null, waiting: event.head }
    await tx.events.append({ type: 'branch.changed', project: parent.id, data })
  })
  return nothing('It comes from a fork, so it waits until somebody approves its commit.')
}

const mostWaiting = 50

/** By its number: the branch may have another name by then, or none. What somebody changed there, or made by hand, stays, and says so. */
async function close(
  parent: ProjectRow,
  number: number,
  deps: PullRequestDeps,
  { signal }: RequestContext,
): Promise<Followed> {
  const { store } = deps
  const known = (await store.branches.of(parent.id)).find(({ pullRequest }) => pullRequest?.number === number) ?? null
  const project = known?.project == null ? null : await store.projects.find(known.project)
  // Before anything else: what is in the trash, or on its way there, is not found later.
  await store.transaction(async (tx) => {
    await tx.trash.endPullRequest(parent.id, number)
    if (known?.pullRequest == null) return
    const pullRequest = { ...known.pullRequest, closed: true }
    if (known.project === null) await tx.branches.delete(parent.id, known.branch)
    else await tx.branches.update(parent.id, known.branch, { pullRequest })
    const data = { branch: known.branch, environment: known.project, closed: number }
    await tx.events.append({ type: 'branch.changed', project: parent.id, data })
  })
  if (known?.pullRequest == null) return nothing('It has no environment.')
  if (project === null) return nothing('It does not wait any more.')
  if (!known.pullRequest.fork && !known.actor.startsWith('webhook ('))
    return nothing('Its environment was made by a person, who deletes it.')
  const unsaved = project.phase === 'ready' ? await hasUnsaved(project, known.seenCommit, deps, signal) : false
  if (unsaved !== false) {
    const warning = 'Its pull request is closed, and it may have files or commits that are nowhere else: it stays.'
    await store.transaction((tx) => tx.branches.update(parent.id, known.branch, { warning }))
    return nothing(warning)
  }
  await removeEnvironment(project, `The pull request ${number} is closed.`, deps)
  return { deploy: null, reason: 'Its environment moves to the trash.' }
}
