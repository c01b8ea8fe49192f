import { ProblemError } from '@stackquay/contract'
import { mayEnter, serviceTypeIn } from '@stackquay/domain'
import type { ProxyControl } from '@stackquay/proxy/control'
import type { SessionRow, Store } from '@stackquay/store'
import { newSessionSecret } from '../access/session-cookie.ts'
import { sessionOf } from '../access/session-of.ts'
import { hashOf } from '../access/token-value.ts'
import type { Config } from '../config.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { requireProject } from '../http/rights.ts'
import type { Model } from '../projects/model.ts'
import type { Resolver } from '../projects/resolver.ts'
import type { PagePasses } from '../service-pages/passes.ts'

export interface ServicePageDeps {
  readonly store: Pick<Store, 'sessions' | 'transaction'>
  readonly model: Pick<Model, 'all'>
  readonly resolver: Pick<Resolver, 'pageOf'>
  readonly passes: Pick<PagePasses, 'renew'>
  readonly config: Pick<Config, 'sessions'>
  /** Ends when the proxy has taken the change, or a while has passed. */
  published(...projects: readonly string[]): Promise<void>
  proxy(): Pick<ProxyControl, 'addCode'> | null
  readonly now: () => Date
}

/** A code is redeemed within this time. */
const codeMs = 30_000
/** Then the browser fetches another pass by itself, as long as its session goes on. */
const passMs = 12 * 3_600_000

/** Lets the browser of this session in to the page of a service: the second half of what `apps/proxy/src/gate/sign-in.ts` begins. */
export function servicePageHandlers(deps: ServicePageDeps): Pick<Handlers, 'openServicePage'> {
  const { store, passes, config, published, now } = deps
  return {
    openServicePage: async ({ body }, context) => {
      const { sessionId } = sessionOf(context)
      const { row, service } = pageAt(body.host, deps, context)
      const known = await store.sessions.byId(sessionId)
      if (known === null) throw new ProblemError('unauthorized', 'The session has ended.')
      const control = deps.proxy()
      if (control === null) throw unavailable()
      const [cookie, code] = [newSessionSecret(), newSessionSecret()]
      const expiresAt = endOf(known.session, config.sessions, now().getTime())
      await store.transaction(async (tx) => {
        await tx.pagePasses.insert({
          ...{ hash: hashOf(cookie), session: sessionId, project: row.id, service },
          expiresAt: new Date(expiresAt),
        })
        const target = `${row.slug}/${service}`
        await tx.audit.append(context.audit({ action: 'service.page.open', target, project: row.id }))
      })
      await passes.renew()
      // The proxy knows the pass before anybody can bring the code.
      await published(row.id)
      const redeemBy = now().getTime() + codeMs
      const path = pathIn(body.path)
      await control
        .addCode({ hash: hashOf(code), host: body.host, cookie, path, expiresAt, redeemBy })
        .catch((cause: unknown) => {
          throw unavailable(cause)
        })
      const url = new URL(addressOf(row.slug, service, body.secure === true, deps))
      url.pathname = '/.stackquay/enter'
      url.search = `?code=${code}`
      return { status: 201, body: { url: url.href, expiresAt: new Date(redeemBy).toISOString() } }
    },
  }
}

/** A page of a project that is closed to the caller is none. */
function pageAt(host: string, { model, resolver }: ServicePageDeps, context: RequestContext) {
  for (const { row, resolved } of model.all()) {
    const page = resolved.pages.find(({ workload }) => resolver.pageOf(row.slug, workload).host === host)
    if (page === undefined || serviceTypeIn(row.spec, page.workload) === undefined) continue
    if (!mayEnter(context.principal, row.id)) break
    requireProject(context, row.id, 'operate')
    return { row, service: page.workload }
  }
  throw new ProblemError('not_found', `No service has its page at "${host}".`, {
    hint: 'Open it from the services of its project: it may be disabled, or renamed.',
  })
}

/** Over TLS at its own port: a port that somebody names may be anybody's. */
function addressOf(slug: string, service: string, secure: boolean, { resolver }: ServicePageDeps): string {
  const { host, url } = resolver.pageOf(slug, service)
  return secure ? `https://${host}` : url
}

/** A path of its host alone; anything else leads to its beginning. */
function pathIn(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])[\x21-\x7e]*$/.test(path) ? path : '/'
}

/** Never later than the session’s, used or not. */
function endOf(
  session: Pick<SessionRow, 'createdAt' | 'lastSeenAt' | 'expiresAt'>,
  { idleMs, ageMs }: Config['sessions'],
  now: number,
): number {
  return Math.min(
    now + passMs,
    Date.parse(session.expiresAt),
    Date.parse(session.lastSeenAt) + idleMs,
    Date.parse(session.createdAt) + ageMs,
  )
}

function unavailable(cause?: unknown): ProblemError {
  return new ProblemError('unavailable', 'The proxy that leads to pages of services does not answer.', {
    hint: 'Look at GET /diagnostics, and try again.',
    ...(cause === undefined ? {} : { cause }),
  })
}
