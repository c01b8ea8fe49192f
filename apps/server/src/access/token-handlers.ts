import { ProblemError, type TokenView, visibleText } from '@stackquay/contract'
import { managesInstance, mayEnter } from '@stackquay/domain/access'
import { newId, TakenError, type TokenRow } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import { projectIds } from '../projects/project-ids.ts'
import type { AccessDeps } from './handlers.ts'
import { sessionOf } from './session-of.ts'
import { hashOf, newTokenValue, shownPrefix } from './token-value.ts'

/** A person's API tokens. */
export function tokenHandlers({ store, now }: Pick<AccessDeps, 'store'> & { readonly now: () => number }) {
  return {
    async listTokens({ query }, context) {
      const limit = query.limit ?? 50
      const rows = await store.tokens.of(sessionOf(context).user.id, {
        limit: limit + 1,
        ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
      })
      const items = rows.slice(0, limit)
      return {
        status: 200,
        body: { items: items.map(tokenView), nextCursor: rows.length > limit ? items.at(-1)!.id : null },
      }
    },

    async createToken({ body }, context) {
      const session = sessionOf(context)
      const { user } = session
      const projects = await projectIds(store, body.projects, (id) => mayEnter(session, id))
      checkExpiry(body.expiresAt, now())
      const value = newTokenValue()
      const { name, scope, expiresAt } = body
      const token = {
        id: newId('tok'),
        hash: hashOf(value),
        prefix: shownPrefix(value),
        name,
        owner: user.id,
        scope,
        projects,
        expiresAt,
      }
      const row = await store
        .transaction(async (tx) => {
          const inserted = await tx.tokens.insert(token)
          await tx.audit.append(
            context.audit({
              action: 'token.create',
              target: name,
              changes: { after: { name, scope, projects, expiresAt } },
            }),
          )
          return inserted
        })
        .catch((error: unknown) => {
          if (!(error instanceof TakenError)) throw error
          throw new ProblemError('conflict', `You have a token "${name}" already.`, {
            hint: 'Choose another name, or revoke that one.',
          })
        })
      return { status: 201, body: { ...tokenView(row), value } }
    },

    async revokeToken({ params }, context) {
      const session = sessionOf(context)
      const { user } = session
      const token = await store.tokens.find(params.tid)
      if (token === null || (token.owner !== user.id && !managesInstance(session))) {
        throw new ProblemError('not_found', `There is no token "${params.tid}".`)
      }
      await store.transaction(async (tx) => {
        await tx.tokens.delete(token.id)
        const { name, projects } = token
        await tx.audit.append(
          context.audit({
            action: 'token.revoke',
            target: name,
            changes: { before: { name, scope: token.scope, projects } },
          }),
        )
      })
      return { status: 204 }
    },
  } satisfies Partial<Handlers>
}

function tokenView({ id, name, scope, projects, prefix, createdAt, expiresAt, lastUsedAt }: TokenRow): TokenView {
  return { id, name: visibleText(name), scope, projects: [...projects], prefix, createdAt, expiresAt, lastUsedAt }
}

function checkExpiry(expiresAt: string | null, now: number): void {
  if (expiresAt === null || Date.parse(expiresAt) > now) return
  const detail = 'The time lies in the past.'
  throw new ProblemError('validation_failed', `"expiresAt": ${detail}`, {
    errors: [{ pointer: '/expiresAt', code: 'in_the_past', detail }],
  })
}
