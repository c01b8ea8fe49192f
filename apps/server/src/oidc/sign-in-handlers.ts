import { ProblemError } from '@stackquay/contract'
import { newId, type Store, TakenError } from '@stackquay/store'
import type { MustEnrol } from '../access/complete-login.ts'
import { loggedIn, newSession } from '../access/new-session.ts'
import type { PasswordAgain } from '../access/password-again.ts'
import { recordRefused } from '../access/record-refused.ts'
import type { SessionCookie } from '../access/session-cookie.ts'
import { sessionOf } from '../access/session-of.ts'
import { networkOf } from '../access/throttle.ts'
import { hashOf } from '../access/token-value.ts'
import type { Config } from '../config.ts'
import type { DeniedLog } from '../http/denied-log.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import type { Arrival, Arrivals } from './arrivals.ts'
import { personOf, shownName, signInFailed } from './people.ts'
import { isUnreachable, type ProviderClient, reasonOf } from './provider.ts'
import type { Refresher } from './refresher.ts'
import { tokensOf } from './refresher.ts'
import { type RoundCookies, roundMs } from './round-cookie.ts'
import { knownProvider, redirectUriOf, type StoredProvider, sessionSecretPrefix, storedProvider } from './settings.ts'

export interface SignInDeps {
  readonly store: Store
  readonly config: Pick<Config, 'publicUrl'>
  readonly cookie: SessionCookie
  readonly denied: Pick<DeniedLog, 'record'>
  readonly passwordAgain: PasswordAgain
  readonly mustEnrol: MustEnrol
  readonly provider: ProviderClient
  readonly rounds: RoundCookies
  readonly arrivals: Arrivals
  readonly refresher: Refresher
  readonly now: () => number
  readonly log: { warn(details: object, message: string): void }
}

type SignInId = 'getOidcOffer' | 'startOidc' | 'callbackOidc' | 'finishOidc' | 'linkOidc' | 'logoutOidc'

/** What went wrong on the way, as the page of the login is told it. */
type Fault = 'off' | 'expired' | 'refused' | 'unreachable' | 'invalid' | 'busy'

/** Each holds a connection to the provider. A stranger begins as many as he likes, so those of one network are fewer than all. */
const mostAtOnce = 32
const mostOfNetwork = 6

export function signInHandlers(deps: SignInDeps): Pick<Handlers, SignInId> {
  return { ...roundHandlers(deps), ...arrivedHandlers(deps) }
}

function roundHandlers(deps: SignInDeps): Pick<Handlers, 'getOidcOffer' | 'startOidc' | 'callbackOidc'> {
  const { store, config, provider, rounds, arrivals, now, log } = deps
  const under: string[] = []
  const failed = (fault: Fault, cookies: readonly string[] = []) =>
    leadTo(`${config.publicUrl}/login#oidc-error=${fault}`, cookies)
  /** Never throws: whoever came by a link sees a page, not a document. */
  const attempt = async (ip: string, cookies: readonly string[], work: () => Promise<ReturnType<typeof leadTo>>) => {
    const network = networkOf(ip)
    const own = under.filter((one) => one === network).length
    if (under.length >= mostAtOnce || own >= mostOfNetwork) return failed('busy', cookies)
    under.push(network)
    try {
      return await work()
    } catch (error) {
      log.warn({ detail: reasonOf(error) }, 'A sign-in by the provider did not succeed.')
      return failed(isUnreachable(error) ? 'unreachable' : 'invalid', cookies)
    } finally {
      under.splice(under.indexOf(network), 1)
    }
  }
  return {
    getOidcOffer: async () => {
      const found = await storedProvider(store)
      return { status: 200, body: { label: found?.label ?? null, origin: new URL(config.publicUrl).origin } }
    },
    startOidc: ({ query: { challenge } }, { ip }) =>
      attempt(ip, [], async () => {
        const known = await knownProvider(store)
        if (known === null) return failed('off')
        const { url, round } = await provider.begin(known, redirectUriOf(config.publicUrl))
        const kept = { ...round, challenge, issuer: known.settings.issuer, until: now() + roundMs }
        return leadTo(url, [rounds.line(kept)])
      }),
    callbackOidc: ({ query }, context) => {
      const { state = '' } = query
      const round = rounds.read(context.header('cookie'), state, now())
      if (round === null) return Promise.resolve(failed('expired'))
      const cookies = [rounds.clearing(state)]
      return attempt(context.ip, cookies, async () => {
        const known = await knownProvider(store)
        if (known === null || known.settings.issuer !== round.issuer) return failed('off', cookies)
        if (query.error === 'access_denied') return failed('refused', cookies)
        const answer = new URL(redirectUriOf(config.publicUrl))
        for (const [name, value] of Object.entries(query)) if (value !== undefined) answer.searchParams.set(name, value)
        const arrival = await provider.finish(known, answer, round)
        const code = arrivals.keep({ issuer: round.issuer, ...arrival }, round.challenge)
        return leadTo(`${config.publicUrl}/login#oidc=${code}`, cookies)
      })
    },
  }
}

function leadTo(location: string, cookies: readonly string[]) {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
  return { status: 303 as const, headers, cookies }
}

function arrivedHandlers(deps: SignInDeps): Pick<Handlers, 'finishOidc' | 'linkOidc' | 'logoutOidc'> {
  const { store, config, cookie, denied, passwordAgain, provider, refresher, mustEnrol } = deps
  return {
    finishOidc: async ({ body }, context) => {
      try {
        const { arrival, settings } = await arrivalOf(body, deps)
        const { user, session, row } = await begin(arrival, settings, context, deps)
        refresher.watch(row)
        const due = (await mustEnrol(user)) ? { mustEnrol: true as const } : {}
        const told = { ...loggedIn(user, session.key, null), ...due }
        return { status: 200, body: told, cookies: [cookie.line(session.secret)] }
      } catch (error) {
        if (error instanceof ProblemError) await recordRefused(denied, context, 'auth.oidc_login', error.message)
        throw error
      }
    },
    linkOidc: async ({ body }, context) => {
      const { user } = sessionOf(context)
      await passwordAgain.check(context, body.password, 'auth.oidc_link', 'password')
      const { arrival } = await arrivalOf(body, deps)
      const { issuer, claims } = arrival
      const identity = { issuer, subject: claims.sub, user: user.id, managed: false, name: shownName(claims) }
      await store.transaction(async (tx) => {
        const held = (await store.oidc.ofUser(user.id)).find((one) => one.issuer === issuer)
        if (held?.managed === true)
          throw new ProblemError('conflict', 'The provider made this account, and its role follows it.')
        await tx.oidc.link(identity).catch(refuseTaken)
        const after = { issuer, subject: claims.sub }
        await tx.audit.append(context.audit({ action: 'auth.oidc_link', target: user.name, changes: { after } }))
      })
      return { status: 204 }
    },
    logoutOidc: async (_input, context) => {
      const { sessionId } = sessionOf(context)
      const [row, tokens, known] = [
        await store.oidc.session(sessionId),
        await tokensOf(sessionId, store),
        await knownProvider(store),
      ]
      // Here first: whatever the provider answers, or does not.
      await store.transaction(async (tx) => {
        await tx.sessions.delete(sessionId)
        await tx.secrets.delete(null, sessionSecretPrefix + sessionId)
        await tx.audit.append(context.audit({ action: 'auth.logout' }))
      })
      refresher.forget(sessionId)
      const isTheirs = known !== null && row !== null && row.issuer === known.settings.issuer
      const backTo = `${config.publicUrl}/login`
      const url = isTheirs ? await provider.endUrl(known, tokens?.idToken ?? null, backTo).catch(() => null) : null
      return { status: 200, body: { url }, cookies: [cookie.clearing] }
    },
  }
}

export function refuseTaken(error: unknown): never {
  if (!(error instanceof TakenError)) throw error
  throw new ProblemError('conflict', 'Another account is linked to that person at the provider already.', {
    hint: 'An administrator can take that link away.',
  })
}

async function arrivalOf(
  { code, verifier }: { readonly code: string; readonly verifier: string },
  { arrivals, store }: SignInDeps,
): Promise<{ readonly arrival: Arrival; readonly settings: StoredProvider }> {
  const arrival = arrivals.take(code, verifier)
  const settings = await storedProvider(store)
  if (arrival === null || settings === null || settings.issuer !== arrival.issuer)
    throw signInFailed('The code was used, is too old, or belongs to another page.')
  return { arrival, settings }
}

async function begin(arrival: Arrival, settings: StoredProvider, context: RequestContext, deps: SignInDeps) {
  const { store, cookie, now } = deps
  const { secret, key, ...made } = newSession(context, now(), cookie)
  const id = newId('ses')
  const { refreshToken } = arrival.tokens
  const endOfGrace = now() + settings.graceMinutes * 60_000
  // Nothing to ask with: the session lasts as long as one whose provider does not answer.
  const expiresAt =
    refreshToken === null && Date.parse(made.expiresAt) > endOfGrace
      ? new Date(endOfGrace).toISOString()
      : made.expiresAt
  const refreshAt = refreshToken === null ? null : new Date(now() + settings.refreshMinutes * 60_000).toISOString()
  const { issuer, claims } = arrival
  const row = { session: id, issuer, subject: claims.sub, refreshAt }
  const user = await store.transaction(async (tx) => {
    const person = await personOf(tx, arrival, { store, settings, audit: context.audit.bind(context) })
    const halves = { cookieHash: hashOf(secret), keyHash: hashOf(key) }
    await tx.sessions.insert({ id, ...halves, user: person.id, ...made, expiresAt })
    await tx.oidc.openSession(row)
    await dropOrphans(tx, store, id)
    await tx.secrets.put(null, sessionSecretPrefix + id, JSON.stringify(arrival.tokens))
    const changes = { after: { issuer, subject: claims.sub } }
    const entry = context.audit({ action: 'auth.oidc_login', target: person.username, changes })
    await tx.audit.append({ ...entry, actor: person.username })
    return person
  })
  return { user, session: { secret, key }, row }
}

/** Sessions end in many ways, and their tokens lie elsewhere. */
async function dropOrphans(
  tx: Parameters<Parameters<Store['transaction']>[0]>[0],
  store: Store,
  own: string,
): Promise<void> {
  const live = new Set((await store.oidc.sessions()).map(({ session }) => session))
  for (const name of Object.keys(await store.secrets.ofInstance(sessionSecretPrefix))) {
    const session = name.slice(sessionSecretPrefix.length)
    if (session !== own && !live.has(session)) await tx.secrets.delete(null, name)
  }
}
