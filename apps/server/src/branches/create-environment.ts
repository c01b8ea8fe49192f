import { type BranchPullRequest, ProblemError, type Secret } from '@stackquay/contract'
import { branchSlugs, defaultBranches, isSecretOfCopy, withWorkOff } from '@stackquay/domain'
import {
  type BranchSource,
  type NewProject,
  newId,
  type OperationRow,
  type ProjectRow,
  type Store,
  type Transaction,
} from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import type { Network } from '../network/network.ts'
import { acceptQuietly, queueOperation } from '../projects/accept.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { isSecretOfData, sealSpec, withoutSecretTexts, withPendingSecrets } from '../projects/extract-secrets.ts'
import type { ProjectsDeps } from '../projects/handlers/deps.ts'
import { insertProject } from '../projects/handlers/insert-project.ts'
import { opensRepository } from '../projects/source-url.ts'

export type EnvironmentDeps = Pick<ProjectsDeps, 'sources' | 'isolation'> &
  ChangeDeps & { readonly network: Pick<Network, 'renew'> }

export interface WantedEnvironment {
  readonly branch: string
  readonly create: boolean
  readonly databases: 'clone' | 'empty'
  readonly start: boolean
  /** Where the commits of a pull request from a fork are. Such a one gets no secrets and no data, whatever is set. */
  readonly ref: string | null
  readonly pullRequest: BranchPullRequest | null
}

export const branchSettings = ({ spec }: Pick<ProjectRow, 'spec'>) => spec.branches ?? defaultBranches

/** A project of its own for a branch, with the operation that makes it. */
export async function createEnvironment(
  parent: ProjectRow,
  wanted: WantedEnvironment,
  context: RequestContext,
  deps: EnvironmentDeps,
): Promise<{ readonly project: NewProject; readonly operation: OperationRow }> {
  const { store } = deps
  await refuseEnvironment(parent, wanted.branch, store)
  const isFork = wanted.ref !== null
  const inherits = branchSettings(parent).secrets === 'inherit' && !isFork
  const source: BranchSource = {
    kind: 'branch',
    of: parent.id,
    branch: wanted.branch,
    create: wanted.create,
    clones: wanted.databases === 'clone' && !isFork,
    inherits,
    ref: wanted.ref,
  }
  const slug = await freeSlug(wanted.branch, parent, store)
  const id = newId('prj')
  // It has no branches of its own.
  const { branches: _branches, ...settings } = withWorkOff(inherits ? parent.spec : withoutSecretTexts(parent.spec))
  const pending = withPendingSecrets(settings)
  const project: NewProject = {
    id,
    slug,
    spec: { ...pending.spec, name: `${parent.spec.name} (${slug.split('--')[0]})`.slice(0, 60) },
    engine: parent.engine,
    desired: wanted.start ? 'running' : 'stopped',
    phase: 'creating',
    path: await deps.sources.freeFolder(slug),
    source,
  }
  const more = async (tx: Transaction) => {
    await requireRoom(parent, wanted.branch, store)
    const texts = await copySecrets(
      tx,
      { from: parent.id, to: id, pending: pending.names, clones: source.clones },
      store,
    )
    const spec = await sealSpec(tx, id, project.spec, { texts, dropped: [] })
    if (texts.size > 0) await tx.projects.update(id, 1, { spec })
    const { branch, pullRequest } = wanted
    const made = { parent: parent.id, branch, project: id, actor: context.actor, pullRequest }
    await tx.branches.put({ ...made, seenCommit: null, goneAt: null, warning: null })
    await copyGate(tx, parent.id, id, store)
    const operation = await queueOperation(tx, 'duplicate', id, context, { of: parent.id }, true)
    if (pullRequest !== null) await tellForge(tx, project, pullRequest, operation)
    return operation
  }
  const user = (await deps.isolation.users?.reserve(id)) ?? null
  const operation = await insertProject(project, context, deps, { user, more })
  await deps.network.renew(id)
  return { project, operation }
}

/** How the first commit does is told to the forge as it is of each later one. */
async function tellForge(
  tx: Transaction,
  { id, source }: NewProject,
  { forge, head }: BranchPullRequest,
  operation: OperationRow,
): Promise<void> {
  await tx.deploys.insert({
    id: newId('dpl'),
    project: id,
    trigger: 'push',
    actor: operation.actor,
    forge,
    state: 'running',
    branch: source?.kind === 'branch' ? source.branch : null,
    commit: head,
    operation: operation.id,
  })
}

/** Who may not see the project may not see its branches. Redirects and origins are about its own addresses. */
async function copyGate(tx: Transaction, from: string, to: string, store: Store): Promise<void> {
  const before = await store.network.rules(from)
  if (before !== null) await tx.network.putRules(to, { ...before.rules, redirects: [], cors: null })
}

async function refuseEnvironment(parent: ProjectRow, branch: string, store: Store): Promise<void> {
  if (parent.source?.kind === 'branch')
    throw new ProblemError('conflict', `"${parent.slug}" is the environment of a branch, and has none of its own.`, {
      hint: 'Make it in the project that it is of.',
    })
  await acceptQuietly(store, parent, 'merge')
  if (parent.phase !== 'ready') throw new ProblemError('busy', `The project "${parent.slug}" is not ready.`)
  await requireRoom(parent, branch, store)
}

/** Asked again in the transaction that makes it: two may come at once. */
async function requireRoom(parent: ProjectRow, branch: string, store: Store): Promise<void> {
  const rows = (await store.branches.of(parent.id)).filter(({ project }) => project !== null)
  if (rows.some((row) => row.branch === branch))
    throw new ProblemError('conflict', `The branch "${branch}" has an environment already.`)
  const { max } = branchSettings(parent)
  if (rows.length < max) return
  throw new ProblemError('conflict', `The project has ${rows.length} branch environments, and at most ${max}.`, {
    hint: 'Delete one, or raise branches.max.',
  })
}

async function freeSlug(branch: string, parent: ProjectRow, store: Store): Promise<string> {
  // Their pages are at `<name>--<slug>`, now or once the project has them.
  const addons = [...Object.keys(parent.spec.addons ?? {}), ...(await store.addons.all()).map(({ name }) => name)]
  for (const slug of branchSlugs(branch, parent.slug, addons))
    if ((await store.projects.find(slug)) === null) return slug
  throw new ProblemError('conflict', `No name is free for the branch "${branch}".`, {
    hint: 'A project with a shorter slug leaves more room.',
  })
}

/** Data knows its own passwords, so a clone keeps them; without data all are made anew. Answers those of its settings. */
async function copySecrets(
  tx: Transaction,
  asked: { readonly from: string; readonly to: string; readonly pending: readonly string[]; readonly clones: boolean },
  store: Store,
): Promise<Map<string, Secret>> {
  const texts = new Map<string, Secret>()
  for (const [name, handle] of Object.entries(await store.secrets.of(asked.from))) {
    if (opensRepository(name) || isSecretOfCopy(name)) continue
    if (asked.pending.includes(name)) texts.set(name, await store.secrets.reveal(handle.secret))
    else if (asked.clones && isSecretOfData(name))
      await tx.secrets.put(asked.to, name, (await store.secrets.reveal(handle.secret)).expose())
  }
  return texts
}
