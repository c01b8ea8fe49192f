import { z } from 'zod'
import { operation } from '../operation.ts'
import { Cursor, Limit, listOf, Wait } from '../schemas/common.ts'
import {
  GitBranch,
  GitBranchName,
  GitCheckout,
  GitCommit,
  GitDeployKey,
  GitDiff,
  GitDiffQuery,
  GitDiscard,
  GitLog,
  GitPull,
  GitPush,
  GitRemotePut,
  GitState,
} from '../schemas/git.ts'
import { OperationRecord } from '../schemas/operations.ts'
import { change, id, operate, read } from './of-project.ts'

const waits = z.strictObject({ wait: Wait })
const ended = { 202: OperationRecord, 200: OperationRecord } as const
const local = ['validation_failed', 'busy', 'git_refused', 'disk_full', 'source_failed', 'unavailable_here'] as const

export const getGit = operation({
  id: 'getGit',
  method: 'GET',
  path: '/projects/{id}/git',
  tag: 'Git',
  summary: 'The repository of a project: branch, ahead and behind, changed files',
  description: 'Of what is on disk; the remote is as of the last fetch. Nothing of the repository is executed.',
  access: read,
  params: id,
  results: { 200: GitState },
  problems: ['git_refused', 'unavailable_here'],
})

export const getGitDiff = operation({
  id: 'getGitDiff',
  method: 'GET',
  path: '/projects/{id}/git/diff',
  tag: 'Git',
  summary: 'What differs, as a patch',
  description: 'Against what is staged, or of `staged` or `commit`.',
  access: read,
  params: id,
  query: GitDiffQuery,
  results: { 200: GitDiff },
  problems: ['validation_failed', 'git_refused', 'unavailable_here'],
})

export const getGitLog = operation({
  id: 'getGitLog',
  method: 'GET',
  path: '/projects/{id}/git/log',
  tag: 'Git',
  summary: 'Commits, newest first',
  description: 'Of the head, or of a branch. A cursor stays with the commit that it began at.',
  access: read,
  params: id,
  query: z.strictObject({
    branch: GitBranchName.optional().describe('Local, or `origin/…`.'),
    limit: Limit,
    cursor: Cursor,
  }),
  results: { 200: GitLog },
  problems: ['validation_failed', 'git_refused', 'unavailable_here'],
})

export const listGitBranches = operation({
  id: 'listGitBranches',
  method: 'GET',
  path: '/projects/{id}/git/branches',
  tag: 'Git',
  summary: 'Branches, the last changed first',
  description: 'Local ones and those of `origin`, at most 500.',
  access: read,
  params: id,
  results: { 200: listOf('GitBranchList', GitBranch) },
  problems: ['git_refused', 'unavailable_here'],
})

export const putGit = operation({
  id: 'putGit',
  method: 'PUT',
  path: '/projects/{id}/git',
  tag: 'Git',
  summary: 'Set where a project fetches from and pushes to',
  description: 'And with which token. It is sealed, and given to the server of this address alone.',
  access: operate,
  params: id,
  body: GitRemotePut,
  results: { 200: GitState },
  problems: ['validation_failed', 'source_failed', 'unavailable_here'],
  audit: 'project.git.remote',
})

export const createGitDeployKey = operation({
  id: 'createGitDeployKey',
  method: 'POST',
  path: '/projects/{id}/git/deploy-key',
  tag: 'Git',
  summary: 'Make a deploy key for SSH, or replace it',
  description: 'ed25519. The private half never leaves the service; the one before is forgotten.',
  access: operate,
  params: id,
  results: { 201: GitDeployKey },
  problems: [],
  audit: 'project.git.deploy_key',
})

export const fetchGit = operation({
  id: 'fetchGit',
  method: 'POST',
  path: '/projects/{id}/git/fetch',
  tag: 'Git',
  summary: 'Fetch from the remote',
  description: 'Branches of `origin` and new tags. No file changes.',
  access: operate,
  params: id,
  query: waits,
  results: ended,
  problems: local,
  audit: 'project.git.fetch',
})

export const pullGit = operation({
  id: 'pullGit',
  method: 'POST',
  path: '/projects/{id}/git/pull',
  tag: 'Git',
  summary: 'Fetch, and bring the branch to what the remote has',
  description:
    'Refused where a file differs from the last commit. Conflicts are told, and nothing is changed. Where the project runs, dependencies that changed are installed and its programs restart: see the plan.',
  access: operate,
  params: id,
  query: change,
  body: GitPull.optional(),
  results: ended,
  problems: local,
  audit: 'project.git.pull',
  dryRun: true,
})

export const checkoutGit = operation({
  id: 'checkoutGit',
  method: 'POST',
  path: '/projects/{id}/git/checkout',
  tag: 'Git',
  summary: 'Check a branch out',
  description:
    'One that only `origin` has is made from it. Refused where a file differs from the last commit. Programs restart as after a pull.',
  access: operate,
  params: id,
  query: waits,
  body: GitCheckout,
  results: ended,
  problems: local,
  audit: 'project.git.checkout',
})

export const commitGit = operation({
  id: 'commitGit',
  method: 'POST',
  path: '/projects/{id}/git/commit',
  tag: 'Git',
  summary: 'Commit files',
  description: 'Untracked ones too, but for ignored ones. No hook runs, and nothing is signed.',
  access: operate,
  params: id,
  query: waits,
  body: GitCommit,
  results: ended,
  problems: local,
  audit: 'project.git.commit',
})

export const pushGit = operation({
  id: 'pushGit',
  method: 'POST',
  path: '/projects/{id}/git/push',
  tag: 'Git',
  summary: 'Push a branch to the remote',
  description: 'Refused where that has commits which are not here.',
  access: operate,
  params: id,
  query: waits,
  body: GitPush.optional(),
  results: ended,
  problems: local,
  audit: 'project.git.push',
})

export const discardGit = operation({
  id: 'discardGit',
  method: 'POST',
  path: '/projects/{id}/git/discard',
  tag: 'Git',
  summary: 'Put files back to the last commit',
  description: 'What is discarded is kept as a commit under `refs/stackquay/discarded`; the output names it.',
  access: operate,
  params: id,
  query: waits,
  body: GitDiscard,
  results: ended,
  problems: local,
  audit: 'project.git.discard',
})
