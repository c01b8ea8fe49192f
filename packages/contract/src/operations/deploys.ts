import { z } from 'zod'
import { operation } from '../operation.ts'
import { Cursor, Limit, Wait } from '../schemas/common.ts'
import { DeployPage, ForgeAnswer, ForgeEvent, GitWebhook, GitWebhookPut, RollbackRequest } from '../schemas/deploys.ts'
import { OperationRecord } from '../schemas/operations.ts'
import { change, id, operate, read } from './of-project.ts'

const waits = z.strictObject({ wait: Wait })
const ended = { 202: OperationRecord, 200: OperationRecord } as const
const acts = ['validation_failed', 'busy', 'git_refused', 'unavailable_here'] as const

export const getGitWebhook = operation({
  id: 'getGitWebhook',
  method: 'GET',
  path: '/projects/{id}/git/webhook',
  tag: 'Git',
  summary: 'How pushes to the forge are deployed',
  description: 'With the address for the forge and the last deliveries; never with the secret.',
  access: operate,
  params: id,
  results: { 200: GitWebhook },
  problems: [],
})

export const putGitWebhook = operation({
  id: 'putGitWebhook',
  method: 'PUT',
  path: '/projects/{id}/git/webhook',
  tag: 'Git',
  summary: 'Deploy what is pushed to the forge',
  description: 'What is absent stays. When it is enabled first, the answer has the secret, this once.',
  access: operate,
  params: id,
  body: GitWebhookPut,
  results: { 200: GitWebhook },
  problems: ['validation_failed'],
  audit: 'project.git.webhook',
})

export const receivePush = operation({
  id: 'receivePush',
  method: 'POST',
  path: '/hooks/{hook}',
  tag: 'Git',
  summary: 'What a forge sends when somebody pushes',
  description:
    'Signed for GitHub, GitLab, Gitea or Forgejo with the secret of the hook. A delivery that was here already does nothing, and neither do pings, tags, deleted and other branches.',
  access: { kind: 'public' },
  params: z.object({ hook: z.string().min(1).max(100).describe('As in the address that the webhook told.') }),
  body: ForgeEvent,
  bodyTypes: ['application/x-www-form-urlencoded'],
  rawBody: true,
  results: { 202: ForgeAnswer, 200: ForgeAnswer },
  problems: ['not_found', 'signature_invalid', 'throttled', 'too_large'],
})

export const listDeploys = operation({
  id: 'listDeploys',
  method: 'GET',
  path: '/projects/{id}/git/deploys',
  tag: 'Git',
  summary: 'Deploys, newest first',
  description: 'With commit, who asked, how it ended, and what it was well with.',
  access: read,
  params: id,
  query: z.strictObject({ limit: Limit, cursor: Cursor }),
  results: { 200: DeployPage },
  problems: [],
})

export const createDeploy = operation({
  id: 'createDeploy',
  method: 'POST',
  path: '/projects/{id}/git/deploys',
  tag: 'Git',
  summary: 'Deploy the branch as it is at the remote',
  description:
    'Pulls, installs, runs the hook `deploy`, restarts what changed, and succeeds only when the project is well. Else it goes back, unless that is switched off.',
  access: operate,
  params: id,
  query: waits,
  results: ended,
  problems: acts,
  audit: 'project.git.deploy',
})

export const rollbackDeploy = operation({
  id: 'rollbackDeploy',
  method: 'POST',
  path: '/projects/{id}/git/rollback',
  tag: 'Git',
  summary: 'Go back to the commit of an earlier deploy',
  description:
    'Its files, dependencies and programs; the hook `deploy` does not run, and no data goes back. The plan, and afterwards `reason`, tell what is not as with that release.',
  access: operate,
  params: id,
  query: change,
  body: RollbackRequest.optional(),
  results: ended,
  problems: acts,
  audit: 'project.git.rollback',
  dryRun: true,
})
