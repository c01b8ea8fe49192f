import { ProblemError } from '@stackquay/contract'
import { serviceTypeIn } from '@stackquay/domain'
import type { ProxyControl } from '@stackquay/proxy/control'
import type { ProjectRow, SessionRow, Store } from '@stackquay/store'
import { newSessionSecret } from '../access/session-cookie.ts'
import { sessionOf } from '../access/session-of.ts'
import { hashOf } from '../access/token-value.ts'
import type { Config } from '../config.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { refusalProblem } from '../http/refusal-problem.ts'
import type { Network } from '../network/network.ts'
import { formerHosts, ownHosts } from '../projects/hosts-of-project.ts'
import type { Model } from '../projects/model.ts'
import type { Resolver } from '../projects/resolver.ts'
import { hopRefusalOf, projectPass } from '../service-pages/hop-access.ts'
import type { PagePasses } from '../service-pages/passes.ts'

export interface ServicePageDeps {
  readonly store: Pick<Store, 'sessions' | 'transaction'>
  readonly model: Pick<Model, 'all'>
  readonly resolver: Pick<Resolver, 'pageOf' | 'host' | 'urlOf'>
  readonly network: Pick<Network, 'of'>
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

/** Lets the browser of this session in to the page of a service, or to a project whose rules ask for a sign-in: the second half of what `apps/proxy/src/gate/sign-in.ts` begins. */
export function servicePageHandlers(deps: ServicePageDeps): Pick<Handlers, 'openServicePage'> {
  const { store, passes, config, published, now } = deps
  return {
    openServicePage: async ({ body }, context) => {
      const { sessionId } = sessionOf(context)
      const { row, service, host } = placeAt(body.host, context.principal, deps)
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
        await tx.audit.append(
          context.audit({ action: 'service.page.open', target: shownTarget(row, service), project: row.id }),
        )
      })
      await passes.renew()
      // The proxy knows the pass before anybody can bring the code.
      await published(row.id)
      const redeemBy = now().getTime() + codeMs
      const path = pathIn(body.path)
      await control.addCode({ hash: hashOf(code), host, cookie, path, expiresAt, redeemBy }).catch((cause: unknown) => {
        throw unavailable(cause)
      })
      const url = new URL(body.secure === true ? `https://${host}` : deps.resolver.urlOf(host))
      url.pathname = '/.stackquay/enter'
      url.search = `?code=${code}`
      return { status: 201, body: { url: url.href, expiresAt: new Date(redeemBy).toISOString() } }
    },
  }
}

interface Place {
  readonly row: ProjectRow
  /** Empty for the project itself. */
  readonly service: string
  /** Where the browser goes: of a name from before a rename that of today. */
  readonly host: string
}

/** Whoever may not come in learns from the answer of no place, whether there is one or not. */
function placeAt(host: string, caller: RequestContext['principal'], deps: ServicePageDeps): Place {
  const place = projectAt(host, deps) ?? pageAt(host, deps)
  if (place !== null && hopRefusalOf(caller, place.row.id, place.service) === null) return place
  const refusal = hopRefusalOf(caller, null, 'any')
  if (refusal !== null) throw refusalProblem(refusal, caller)
  throw new ProblemError(
    'not_found',
    `No service has its page at "${host}", and no project asks for a sign-in there.`,
    {
      hint: 'Open it from its project: it may be disabled, or renamed.',
    },
  )
}

/**
 * A project whose rules ask for a sign-in; names of others answer everybody, and need no pass. As the proxy has it, a name that some project has
 * itself is never another’s by a wildcard: a pass for one must not be handed to the other.
 */
function projectAt(host: string, { model, resolver, network }: ServicePageDeps): Place | null {
  let byWildcard: Place | null = null
  for (const { row, resolved } of model.all()) {
    const own = network.of(row.id)
    const isOn = own.rules?.rules.signIn === true
    const place = { row, service: projectPass }
    const known = { row, resolved }
    const hosts = [...ownHosts(known, resolver), ...own.domains].map((one) => one.host)
    if (hosts.includes(host)) return isOn ? { ...place, host } : null
    const former = formerHosts(known, own, resolver).find((one) => one.host === host)
    if (former !== undefined) return isOn ? { ...place, host: former.to } : null
    if (isOn && hosts.some((one) => isOf(host, one))) byWildcard = { ...place, host }
  }
  return byWildcard
}

/** `*.example.org` is all names one label below. */
function isOf(host: string, name: string): boolean {
  return name.startsWith('*.') ? host.slice(host.indexOf('.')) === name.slice(1) : host === name
}

function pageAt(host: string, { model, resolver }: ServicePageDeps): Place | null {
  for (const { row, resolved } of model.all()) {
    const page = resolved.pages.find(({ workload }) => resolver.pageOf(row.slug, workload).host === host)
    if (page !== undefined && serviceTypeIn(row.spec, page.workload) !== undefined)
      return { row, service: page.workload, host }
  }
  return null
}

function shownTarget({ slug }: ProjectRow, service: string): string {
  return service === projectPass ? slug : `${slug}/${service}`
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
