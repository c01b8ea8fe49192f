import { ProblemError, type ProxyRules } from '@stackquay/contract'
import { checkRules } from '@stackquay/domain'
import type { ProjectRow, RulesRow, Store, StoredRules } from '@stackquay/store'
import { hashPassword } from '../access/passwords.ts'
import type { Handlers } from '../http/handler.ts'
import type { Network } from '../network/network.ts'
import type { FilesOf } from '../projects/files-of.ts'
import type { Model } from '../projects/model.ts'
import type { Resolver } from '../projects/resolver.ts'
import { changed } from './domain-handlers.ts'
import { maintenanceView, withPage } from './maintenance-page.ts'

export interface RulesDeps {
  readonly store: Store
  readonly model: Model
  readonly resolver: Resolver
  readonly network: Network
  readonly filesOf: FilesOf
  published(project: string): Promise<void>
}

/** Rules in front of a project. PUT replaces all of them; the password is taken as its hash and never answered. */
export function rulesHandlers(deps: RulesDeps): Pick<Handlers, 'getProxyRules' | 'putProxyRules'> {
  const { store, model, resolver, network, filesOf, published } = deps

  const find = async (idOrSlug: string): Promise<ProjectRow> => {
    const row = await store.projects.find(idOrSlug)
    if (row === null) throw new ProblemError('not_found', `There is no project "${idOrSlug}".`)
    return row
  }

  return {
    getProxyRules: async ({ params }) => {
      const row = await find(params.id)
      return answer(await store.network.rules(row.id))
    },

    putProxyRules: async ({ params, body }, context) => {
      const row = await find(params.id)
      const { basicAuth, ...input } = body
      const checked = checkRules(input, hostsOf(row))
      if (!checked.ok) {
        const [first] = checked.errors
        const detail =
          checked.errors.length === 1 && first ? first.detail : `${checked.errors.length} fields are not valid.`
        throw new ProblemError('validation_failed', detail, { errors: checked.errors })
      }
      const maintenance = await withPage(checked.rules.maintenance, row, filesOf)
      // Slow on purpose, so outside the transaction.
      const passwordHash = basicAuth?.password === undefined ? null : await hashPassword(basicAuth.password)
      const stored = await store.transaction(async (tx) => {
        const before = await store.network.rules(row.id)
        if (context.ifMatch !== null && context.ifMatch !== '*' && context.ifMatch !== etagOf(before)) {
          throw new ProblemError('precondition_failed', 'The rules were changed since they were read.')
        }
        const rules: StoredRules = {
          ...checked.rules,
          basicAuth: basicAuthOf(basicAuth, passwordHash, before),
          ...(maintenance === undefined ? {} : { maintenance }),
        }
        const after = await tx.network.putRules(row.id, rules)
        await tx.audit.append(
          context.audit({
            action: 'proxy-rules.replace',
            target: row.slug,
            project: row.id,
            changes: {
              before: before === null ? null : shown(before.rules, passwordHash !== null),
              after: shown(rules, passwordHash !== null),
            },
          }),
        )
        await tx.events.append(changed(row))
        return after
      })
      await network.renew(row.id)
      await published(row.id)
      return answer(stored)
    },
  }

  function hostsOf(row: ProjectRow): readonly string[] {
    const extra = model.find(row.id)?.resolved.extraHosts ?? []
    return [
      resolver.host(row.slug),
      ...extra.map(({ suffix, prefix }) => resolver.host(row.slug, suffix, prefix)),
      ...network.of(row.id).domains.map(({ host }) => host),
    ]
  }
}

/** Without a password the one that is set stays, as long as it is the same user's. */
function basicAuthOf(
  wanted: { readonly username: string; readonly password?: string | undefined } | null,
  passwordHash: string | null,
  before: RulesRow | null,
): StoredRules['basicAuth'] {
  if (wanted === null) return null
  const { username } = wanted
  if (passwordHash !== null) return { username, passwordHash }
  const kept = before?.rules.basicAuth
  if (kept != null && kept.username === username) return kept
  const detail = `There is no password of "${username}" yet: send one.`
  throw new ProblemError('validation_failed', detail, {
    errors: [{ pointer: '/basicAuth/password', code: 'required', detail }],
  })
}

/** A new password shows as one, without its text. */
function shown({ basicAuth, maintenance, ...rules }: StoredRules, newPassword: boolean) {
  const password = newPassword ? { password: '[secret]' } : {}
  return {
    ...rules,
    ...maintenanceView(maintenance),
    basicAuth: basicAuth === null ? null : { username: basicAuth.username, ...password },
  }
}

function answer(row: RulesRow | null) {
  return { status: 200, body: rulesView(row), etag: etagOf(row) }
}

function etagOf(row: RulesRow | null): string {
  return `rules-${row?.revision ?? 0}`
}

const noRules: ProxyRules = {
  signIn: false,
  allowIps: [],
  basicAuth: null,
  redirects: [],
  requestHeaders: [],
  responseHeaders: [],
  cors: null,
}

function rulesView(row: RulesRow | null): ProxyRules {
  if (row === null) return noRules
  const {
    signIn = false,
    allowIps,
    basicAuth,
    redirects,
    requestHeaders,
    responseHeaders,
    cors,
    maintenance,
  } = row.rules
  return {
    signIn,
    allowIps,
    basicAuth: basicAuth === null ? null : { username: basicAuth.username },
    redirects,
    requestHeaders,
    responseHeaders,
    cors,
    ...maintenanceView(maintenance),
  }
}
