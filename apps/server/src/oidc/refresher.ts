import { byTheService, type OidcSessionRow, type Store } from '@stackquay/store'
import { roleOf, withRole } from './people.ts'
import type { ProviderClient, Refreshed, Tokens } from './provider.ts'
import { knownProvider, type StoredProvider, sessionSecretPrefix } from './settings.ts'

/** Asks the provider again and again whether who signed in by it is still there. */
export interface Refresher {
  /** Null when the session need not be asked for; else it ends when that was done. Costs a look into a map. */
  due(session: string): Promise<void> | null
  /** A session that has begun, or whose time was changed. */
  watch(row: Pick<OidcSessionRow, 'session' | 'refreshAt'>): void
  forget(session: string): void
  /** Since when the provider does not answer, of whatever session says so first. */
  failingSince(): string | null
  close(): Promise<void>
}

export interface RefresherDeps {
  readonly store: Store
  readonly provider: Pick<ProviderClient, 'refresh'>
  readonly now: () => number
  readonly log: { warn(details: object, message: string): void }
}

/** While it does not answer it is asked again after this. */
const againMs = 60_000
/** One look for all that are due, not a timer for each. */
const mostWaitMs = 10 * 60_000

/**
 * A request of a session that is due waits for the provider, so whoever has left is refused by that very request. A timer asks for those
 * that make none: passes to pages of projects hold by the session alone.
 */
export async function createRefresher(deps: RefresherDeps): Promise<Refresher> {
  const { store, now, log } = deps
  const times = new Map<string, number>()
  const asking = new Map<string, Promise<void>>()
  /** Of which the provider did not answer the last time. */
  const unanswered = new Set<string>()
  let failing: string | null = null
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const watch: Refresher['watch'] = ({ session, refreshAt }) => {
    if (refreshAt === null) times.delete(session)
    else times.set(session, Date.parse(refreshAt))
    schedule()
  }
  const look = async (session: string): Promise<void> => {
    const outcome = await refreshSession(session, deps)
    if (outcome.kind === 'ended') {
      times.delete(session)
      unanswered.delete(session)
      if (times.size === 0) failing = null
    } else {
      if (outcome.failing === null) failing = null
      else failing ??= outcome.failing
      times.set(session, outcome.at)
      if (outcome.failing === null) unanswered.delete(session)
      else unanswered.add(session)
    }
  }
  const ask = (session: string): Promise<void> => {
    const begun = asking.get(session)
    if (begun !== undefined) return begun
    const mine = look(session)
      .catch((error: unknown) => {
        times.set(session, now() + againMs)
        log.warn({ err: error }, 'A session of the provider could not be refreshed.')
      })
      .finally(() => asking.delete(session))
    asking.set(session, mine)
    return mine
  }
  const schedule = () => {
    clearTimeout(timer)
    if (times.size === 0 || closed) return
    const next = Math.min(...times.values()) - now()
    timer = setTimeout(() => void lookAtAll(), Math.min(Math.max(next, 1_000), mostWaitMs)).unref()
  }
  const lookAtAll = async () => {
    for (const [session, at] of [...times]) if (at <= now() && !closed) await ask(session)
    schedule()
  }

  for (const row of await store.oidc.sessions())
    if (row.refreshAt !== null) times.set(row.session, Date.parse(row.refreshAt))
  schedule()
  return {
    watch,
    due: (session) => {
      const at = times.get(session)
      if (at === undefined || at > now()) return null
      const asked = ask(session)
      // A provider that is down must not hold up every request of a session that goes on without it.
      return unanswered.has(session) ? null : asked
    },
    forget: (session) => {
      times.delete(session)
      unanswered.delete(session)
      if (times.size === 0) failing = null
    },
    failingSince: () => failing,
    close: async () => {
      closed = true
      clearTimeout(timer)
      await Promise.all(asking.values())
    },
  }
}

type Outcome =
  | { readonly kind: 'ended' }
  | { readonly kind: 'goes-on'; readonly at: number; readonly failing: string | null }

async function refreshSession(session: string, deps: RefresherDeps): Promise<Outcome> {
  const { store, provider, now } = deps
  const [row, live] = [await store.oidc.session(session), await store.sessions.byId(session)]
  if (row === null || live === null) {
    await dropTokens(session, store)
    return { kind: 'ended' }
  }
  const known = await knownProvider(store)
  const tokens = await tokensOf(session, store)
  if (known === null || known.settings.issuer !== row.issuer || tokens?.refreshToken == null)
    return end(row, 'There is nothing to ask the provider with.', deps)
  const refreshed = await provider.refresh(known, tokens.refreshToken, row.subject)
  const { refreshMinutes, graceMinutes } = known.settings
  switch (refreshed.kind) {
    case 'gone':
      return end(row, refreshed.detail, deps)
    case 'unreachable': {
      const since = row.failingSince ?? new Date(now()).toISOString()
      const until = Date.parse(since) + graceMinutes * 60_000
      deps.log.warn({ session, since, detail: refreshed.detail }, 'The provider of the sign-in does not answer.')
      if (now() >= until) return end(row, `The provider has not answered since ${since}.`, deps)
      const at = Math.min(now() + againMs, until)
      await store.transaction((tx) =>
        tx.oidc.updateSession(session, { refreshAt: new Date(at).toISOString(), failingSince: since }),
      )
      return { kind: 'goes-on', at, failing: since }
    }
    case 'here': {
      const at = now() + refreshMinutes * 60_000
      return (await keep(row, refreshed, tokens, at, known.settings, deps))
        ? { kind: 'goes-on', at, failing: null }
        : end(row, 'The provider gives no role any more.', deps)
    }
    default:
      return refreshed satisfies never
  }
}

/** Writes what came, the role too; false for who has none any more. */
async function keep(
  { session, issuer, subject }: OidcSessionRow,
  { claims, tokens }: Extract<Refreshed, { kind: 'here' }>,
  before: Tokens,
  at: number,
  settings: StoredProvider,
  { store }: RefresherDeps,
): Promise<boolean> {
  return store.transaction(async (tx) => {
    const identity = await store.oidc.identity(issuer, subject)
    const user = identity === null ? null : await store.users.find(identity.user)
    if (identity === null || user === null) return false
    // A provider that says nothing of the person now leaves the role as it is.
    if (identity.managed && claims !== null) {
      const role = roleOf(claims, settings)
      if (role === null) return false
      await withRole(tx, user, role, { store, audit: byTheService })
    }
    const kept = { refreshToken: tokens.refreshToken, idToken: tokens.idToken ?? before.idToken }
    await tx.secrets.put(null, sessionSecretPrefix + session, JSON.stringify(kept))
    await tx.oidc.updateSession(session, { refreshAt: new Date(at).toISOString(), failingSince: null })
    return true
  })
}

async function end(
  { session, issuer, subject }: OidcSessionRow,
  reason: string,
  { store }: RefresherDeps,
): Promise<Outcome> {
  await store.transaction(async (tx) => {
    await tx.sessions.delete(session)
    await tx.secrets.delete(null, sessionSecretPrefix + session)
    const changes = { before: { issuer, subject }, after: { reason } }
    await tx.audit.append(byTheService({ action: 'session.end', target: session, changes }))
  })
  return { kind: 'ended' }
}

export async function tokensOf(session: string, store: Pick<Store, 'secrets'>): Promise<Tokens | null> {
  const handle = await store.secrets.find(null, sessionSecretPrefix + session)
  return handle === null ? null : (JSON.parse((await store.secrets.reveal(handle.secret)).expose()) as Tokens)
}

async function dropTokens(session: string, store: Store): Promise<void> {
  await store.transaction((tx) => tx.secrets.delete(null, sessionSecretPrefix + session))
}
