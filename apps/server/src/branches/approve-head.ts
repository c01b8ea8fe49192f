import { ProblemError } from '@stackquay/contract'
import { pullRequestRef } from '@stackquay/domain'
import { type BranchRow, newId, type OperationRow, type ProjectRow } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import { createEnvironment, type EnvironmentDeps } from './create-environment.ts'

/** A person has looked at a commit of a fork: it gets an environment, or the one that is there is to deploy it. */
export async function approveHead(
  parent: ProjectRow,
  row: BranchRow,
  { head, start }: { readonly head: string | undefined; readonly start: boolean },
  context: RequestContext,
  deps: EnvironmentDeps & { readonly deploys: { wake(): void } },
): Promise<{ readonly project: string; readonly operation: OperationRow }> {
  const { store, deploys } = deps
  const { pullRequest, branch, project } = row
  const waiting = pullRequest?.waiting ?? null
  if (pullRequest === null || waiting === null || head !== waiting)
    throw new ProblemError('conflict', 'That is not the commit that waits to be approved.', {
      hint:
        waiting === null
          ? 'Nothing waits.'
          : `Look at ${waiting}${pullRequest?.url == null ? '' : ` (${pullRequest.url})`}, then send it as "head".`,
    })
  const approved = { ...pullRequest, head: waiting, waiting: null }
  if (project === null) {
    const ref = pullRequestRef(pullRequest.forge, pullRequest.number)
    const wanted = { branch, create: false, databases: 'empty', start, ref, pullRequest: approved } as const
    const made = await createEnvironment(parent, wanted, context, deps)
    return { project: made.project.id, operation: made.operation }
  }
  const environment = await store.projects.find(project)
  if (environment === null) throw new ProblemError('not_found', 'The environment is gone.')
  const last = (await store.operations.list({ project, limit: 1 }))[0]
  if (last === undefined) throw new ProblemError('busy', 'The environment is being made.')
  await store.transaction(async (tx) => {
    await tx.branches.update(parent.id, branch, { pullRequest: approved })
    await tx.deploys.supersede(project, `A newer commit was approved: ${waiting.slice(0, 10)}.`)
    await tx.deploys.insert({
      id: newId('dpl'),
      project,
      trigger: 'person',
      actor: context.actor,
      forge: pullRequest.forge,
      state: 'waiting',
      branch,
      commit: waiting,
      operation: null,
    })
    const changes = { branch, approved: waiting }
    await tx.audit.append(
      context.audit({ action: 'project.branch.create', target: parent.slug, project: parent.id, changes }),
    )
  })
  deploys.wake()
  return { project, operation: last }
}
