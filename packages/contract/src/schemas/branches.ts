import { z } from 'zod'
import { branchDatabases } from './branch-settings.ts'
import { ProjectRef, Time } from './common.ts'
import { forges } from './deploys.ts'
import { GitBranchName } from './git.ts'
import { OperationRecord } from './operations.ts'

export const BranchPullRequest = z
  .object({
    number: z.int(),
    title: z.string(),
    url: z.string().nullable(),
    forge: z.enum(forges),
    fork: z.boolean().describe('Its commits are in a fork.'),
    head: z.string().describe('Its newest commit; of a fork the one that is approved.'),
    waiting: z.string().nullable().describe('A commit of a fork that waits to be approved.'),
    closed: z.boolean().optional().describe('Closed, and the environment stays.'),
  })
  .meta({ id: 'BranchPullRequest' })
export type BranchPullRequest = z.infer<typeof BranchPullRequest>

export const BranchEnvironment = z
  .object({
    branch: z.string(),
    project: z.string().nullable().describe('Id of the project that it is. Null: it waits to be approved.'),
    slug: z.string().nullable(),
    url: z.string().nullable(),
    state: z.string().describe('As of a project, or `awaiting-approval`.'),
    commit: z.string().nullable(),
    ahead: z.int().nullable().describe('Commits that the remote has not, as of the last fetch.'),
    behind: z.int().nullable(),
    gone: Time.nullable().describe('Since when the remote has no such branch.'),
    removeAt: Time.nullable().describe('When it moves to the trash for that.'),
    warning: z.string().nullable(),
    missingSecrets: z.array(z.string()).describe('Secret variables of the project that it has not.'),
    pullRequest: BranchPullRequest.nullable(),
    actor: z.string().describe('Who made it.'),
    createdAt: Time,
  })
  .meta({ id: 'BranchEnvironment' })
export type BranchEnvironment = z.infer<typeof BranchEnvironment>
export const BranchList = z.object({ items: z.array(BranchEnvironment), max: z.int() }).meta({ id: 'BranchList' })

export const BranchCreate = z
  .strictObject({
    branch: GitBranchName,
    create: z.boolean().optional().describe('Make the branch, from the commit that is checked out.'),
    databases: z.enum(branchDatabases).optional().describe('Default: as the project says. A fork gets none.'),
    start: z.boolean().optional(),
    head: z.string().max(64).optional().describe('Approves this commit of a pull request from a fork.'),
  })
  .meta({ id: 'BranchCreate' })

export const BranchStarted = z
  .object({ environment: BranchEnvironment, operation: OperationRecord })
  .meta({ id: 'BranchStarted' })

export const branchParams = z.object({ id: ProjectRef, branch: z.string().min(1).max(250).describe('Its branch.') })
