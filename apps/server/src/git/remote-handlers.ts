import { type GitState, ProblemError } from '@stackquay/contract'
import type { ProjectRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { gitDeployKeySecret, gitRemoteSecret } from '../projects/source-url.ts'
import { newDeployKey } from '../source/deploy-key.ts'
import { type GitUrl, parseGitUrl } from '../source/git-url.ts'
import { deployKeyOf, ownRemoteOf, type SetRemote, setRemoteOf, shownUsername } from './sealed-remote.ts'

/** The remote of a repository, and what opens it. */
export function remoteHandlers(
  { store }: ChangeDeps,
  { find }: ProjectAnswers,
  state: (row: ProjectRow, context: RequestContext) => Promise<GitState>,
): Pick<Handlers, 'putGit' | 'createGitDeployKey'> {
  return {
    putGit: async ({ params, body }, context) => {
      const row = await find(params.id)
      const url = parseGitUrl(body.url)
      // Never that of the project that it is a branch of: it would keep the token.
      const before = await ownRemoteOf(row, store)
      const kept = before?.url.credentials?.password ?? null
      const isSameServer = before?.url.origin === url.origin
      refuseUnfit(url, body.token ?? null)
      if (body.token === undefined && kept !== null && !isSameServer)
        throw invalid(
          '/token',
          `The token that is kept is for ${before?.url.origin}. Send one for ${url.origin}, or null for none.`,
        )
      const token = url.credentials?.password ?? (body.token === undefined ? kept : body.token)
      const username = url.credentials?.username ?? body.username ?? before?.url.credentials?.username ?? null
      const isKept = url.credentials === null && body.username === undefined
      const isUsernameSealed = isKept
        ? shownUsername(await setRemoteOf(row, store)) === null
        : body.username !== username
      const set: SetRemote = {
        url: url.url,
        username: token === null && body.username === undefined ? null : username,
        token,
        ...(isUsernameSealed && token !== null && username !== null ? { isUsernameSealed } : {}),
      }
      await store.transaction(async (tx) => {
        await tx.secrets.put(row.id, gitRemoteSecret, JSON.stringify(set))
        await tx.audit.append(
          context.audit({
            action: 'project.git.remote',
            target: row.slug,
            project: row.id,
            changes: { url: { before: before?.url.url ?? null, after: url.url }, token: tokenChange(kept, token) },
          }),
        )
      })
      return { status: 200, body: await state(row, context) }
    },

    createGitDeployKey: async ({ params }, context) => {
      const row = await find(params.id)
      const before = await deployKeyOf(row, store)
      await store.transaction(async (tx) => {
        await tx.secrets.delete(row.id, gitDeployKeySecret)
        await tx.secrets.put(row.id, gitDeployKeySecret, newDeployKey())
        await tx.audit.append(
          context.audit({
            action: 'project.git.deploy_key',
            target: row.slug,
            project: row.id,
            changes: { replaced: before?.fingerprint ?? null },
          }),
        )
      })
      const made = await deployKeyOf(row, store)
      return { status: 201, body: made!, headers: { location: `/api/v1/projects/${row.id}/git` } }
    },
  }
}

function tokenChange(before: string | null, after: string | null): string {
  if (before === after) return 'as before'
  return after === null ? 'removed' : 'set'
}

function refuseUnfit({ protocol }: GitUrl, token: string | null): void {
  if (token === null || protocol === 'https' || protocol === 'http') return
  throw invalid(
    '/token',
    protocol === 'ssh' ? 'SSH takes a key, not a token: make a deploy key.' : 'git:// takes no token; use https.',
  )
}

function invalid(pointer: string, detail: string): ProblemError {
  return new ProblemError('validation_failed', detail, { errors: [{ pointer, code: 'invalid', detail }] })
}
