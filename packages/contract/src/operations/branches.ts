import { z } from 'zod'
import { operation } from '../operation.ts'
import { BranchCreate, BranchList, BranchStarted, branchParams } from '../schemas/branches.ts'
import { Wait } from '../schemas/common.ts'
import { OperationRecord } from '../schemas/operations.ts'
import { admin, id, operate, read } from './of-project.ts'

export const listBranches = operation({
  id: 'listBranches',
  method: 'GET',
  path: '/projects/{id}/branches',
  tag: 'Git',
  summary: 'Branch environments of a project',
  description: 'With those of pull requests from forks, which wait to be approved.',
  access: read,
  params: id,
  results: { 200: BranchList },
  problems: [],
})

export const createBranch = operation({
  id: 'createBranch',
  method: 'POST',
  path: '/projects/{id}/branches',
  tag: 'Git',
  summary: 'Make an environment for a branch',
  description: 'A project of its own at `<branch>--<slug>`, with the branch checked out and the databases cloned.',
  access: operate,
  params: id,
  query: z.strictObject({ wait: Wait }),
  body: BranchCreate,
  results: { 201: BranchStarted },
  problems: ['validation_failed', 'conflict', 'busy', 'git_refused', 'disk_full'],
  audit: 'project.branch.create',
})

export const deleteBranch = operation({
  id: 'deleteBranch',
  method: 'DELETE',
  path: '/projects/{id}/branches/{branch}',
  tag: 'Git',
  summary: 'Move a branch environment to the trash',
  description: 'With its data. The branch itself stays. One that waits to be approved is refused.',
  access: admin,
  params: branchParams,
  query: z.strictObject({ confirm: z.string().max(250).optional().describe('The branch, typed.'), wait: Wait }),
  results: { 200: OperationRecord, 202: OperationRecord, 204: null },
  problems: ['validation_failed', 'busy'],
  audit: 'project.branch.delete',
  removes: 'data',
})
