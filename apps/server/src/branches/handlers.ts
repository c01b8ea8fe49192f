import { ProblemError } from '@stackquay/contract'
import { isBranchName } from '../git/ref-names.ts'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { beginDeletion } from '../projects/handlers/delete-project.ts'
import { isEnded, operationView } from '../projects/view.ts'
import { approveHead } from './approve-head.ts'
import { type BranchViewDeps, branchesOf, branchView } from './branch-view.ts'
import { branchSettings, createEnvironment, type EnvironmentDeps } from './create-environment.ts'

export type BranchDeps = EnvironmentDeps & BranchViewDeps & { readonly deploys: { wake(): void } }

type BranchHandlers = Pick<Handlers, 'listBranches' | 'createBranch' | 'deleteBranch'>

/** Environments for the branches of a project. */
export function branchHandlers(deps: BranchDeps, { find, wait }: ProjectAnswers): BranchHandlers {
  const { store } = deps
  return {
    listBranches: async ({ params }, { signal }) => {
      const parent = await find(params.id)
      const rows = await branchesOf(parent, deps)
      const items = await Promise.all(rows.map((row) => branchView(parent, row, deps, signal)))
      return { status: 200, body: { items, max: branchSettings(parent).max } }
    },

    createBranch: async ({ params, query, body }, context) => {
      const parent = await find(params.id)
      if (!isBranchName(body.branch)) throw invalid('/branch', 'That is no name of a branch.')
      const known = await store.branches.find(parent.id, body.branch)
      const waits = known?.pullRequest?.fork === true
      if (body.head !== undefined && !waits)
        throw invalid('/head', 'Only a pull request from a fork is approved by its commit.')
      const settings = branchSettings(parent)
      const { create = false, start = true, databases = settings.databases } = body
      const { project, operation } = waits
        ? await approveHead(parent, known, { head: body.head, start }, context, deps)
        : await createEnvironment(
            parent,
            { branch: body.branch, create, databases, start, ref: null, pullRequest: null },
            context,
            deps,
          )
      const ended = await wait(operation, query.wait, context)
      const row = await store.branches.find(parent.id, body.branch)
      if (row === null) throw new ProblemError('git_refused', ended.error?.detail ?? 'The environment is gone again.')
      const environment = await branchView(parent, row, deps, context.signal)
      const headers = { location: `/api/v1/projects/${project}` }
      return { status: 201, body: { environment, operation: operationView(ended) }, headers }
    },

    deleteBranch: async ({ params, query }, context) => {
      const parent = await find(params.id)
      const row = (await branchesOf(parent, deps)).find(({ branch }) => branch === params.branch)
      if (row === undefined) throw new ProblemError('not_found', `The branch "${params.branch}" has no environment.`)
      if (query.confirm !== row.branch)
        throw new ProblemError('validation_failed', `Deleting needs ?confirm=${row.branch}.`, {
          errors: [{ pointer: '?confirm', code: 'confirm', detail: `Type the branch: ${row.branch}.` }],
        })
      const project = row.project === null ? null : await store.projects.find(row.project)
      if (project === null) {
        await store.transaction(async (tx) => {
          await tx.branches.delete(parent.id, row.branch)
          const changes = { branch: row.branch, pullRequest: row.pullRequest?.number ?? null }
          const entry = { action: 'project.branch.delete', target: parent.slug, project: parent.id, changes }
          await tx.audit.append(context.audit(entry))
        })
        return { status: 204 }
      }
      const asked = { data: 'delete', purge: false, action: 'project.branch.delete' } as const
      const { operation } = await beginDeletion(project, asked, context, deps)
      const ended = await wait(operation, query.wait, context)
      return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
    },
  }
}

function invalid(pointer: string, detail: string): ProblemError {
  return new ProblemError('validation_failed', detail, { errors: [{ pointer, code: 'invalid', detail }] })
}
