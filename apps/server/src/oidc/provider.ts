import { isLoopback } from '@stackquay/domain'
import type * as OpenidClient from 'openid-client'
import { type GuardedFetch, guardedFetch, ProviderUnreachable } from './guarded-fetch.ts'
import type { KnownProvider } from './settings.ts'

export type Claims = Readonly<Record<string, unknown>> & { readonly sub: string }

export interface Tokens {
  readonly refreshToken: string | null
  readonly idToken: string | null
}

/** What is kept of one round in the browser’s cookie, until it comes back. */
export interface Round {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export type Refreshed =
  | { readonly kind: 'here'; readonly claims: Claims | null; readonly tokens: Tokens }
  /** The provider says that this person, or what was given to them, is no more. */
  | { readonly kind: 'gone'; readonly detail: string }
  | { readonly kind: 'unreachable'; readonly detail: string }

export interface ProviderClient {
  begin(known: KnownProvider, redirectUri: string): Promise<{ readonly url: string; readonly round: Round }>
  /** Throws for every answer that is not whole: state, issuer, nonce, signature, audience, times. */
  finish(known: KnownProvider, answer: URL, round: Round): Promise<{ readonly claims: Claims; readonly tokens: Tokens }>
  refresh(known: KnownProvider, refreshToken: string, subject: string): Promise<Refreshed>
  /** Where one logs out there; null where it has no such page. */
  endUrl(known: KnownProvider, idToken: string | null, backTo: string): Promise<string | null>
  metadata(issuer: string): Promise<OpenidClient.ServerMetadata>
}

export interface ProviderClientOptions {
  readonly now: () => number
  readonly timeoutMs?: number
}

/** Metadata are asked for again after this. Keys are fetched anew for every round: one that was exchanged holds at once. */
const metadataMs = 60_000
const skewSeconds = 60

/** What is known of providers, as the library wants it. */
function createConfigurations({ now, timeoutMs }: ProviderClientOptions) {
  const known = new Map<string, { readonly at: number; readonly metadata: Promise<OpenidClient.ServerMetadata> }>()
  const fetchOf = (issuer: string): GuardedFetch =>
    guardedFetch({ loopback: isLoopback(new URL(issuer).hostname), ...(timeoutMs !== undefined && { timeoutMs }) })

  const discover = async (issuer: string) => {
    const client = await library()
    const url = new URL(issuer)
    const execute = url.protocol === 'http:' ? [client.allowInsecureRequests] : []
    const found = await client.discovery(url, 'discovery', undefined, client.None(), {
      execute,
      [client.customFetch]: fetchOf(issuer) as OpenidClient.CustomFetch,
    })
    const metadata = found.serverMetadata()
    // The library compares both as addresses; tokens carry the text.
    if (metadata.issuer !== issuer) throw new Error(`It calls itself ${JSON.stringify(metadata.issuer)}.`)
    return structuredClone({ ...metadata, supportsPKCE: undefined }) as unknown as OpenidClient.ServerMetadata
  }
  const metadata = (issuer: string) => {
    const found = known.get(issuer)
    if (found !== undefined && now() - found.at < metadataMs) return found.metadata
    const asked = { at: now(), metadata: discover(issuer) }
    known.clear()
    known.set(issuer, asked)
    asked.metadata.catch(() => known.get(issuer) === asked && known.delete(issuer))
    return asked.metadata
  }
  const configuration = async ({ settings: { issuer, clientId }, clientSecret }: KnownProvider) => {
    const client = await library()
    const auth = clientSecret === null ? client.None() : undefined
    const traits = {
      ...(clientSecret !== null && { client_secret: clientSecret }),
      [client.clockTolerance]: skewSeconds,
    }
    const made = new client.Configuration({ ...(await metadata(issuer)) }, clientId, traits, auth)
    made[client.customFetch] = fetchOf(issuer) as OpenidClient.CustomFetch
    if (issuer.startsWith('http:')) client.allowInsecureRequests(made)
    // Signatures too: that a token came over TLS is not enough.
    client.enableNonRepudiationChecks(made)
    return { client, made }
  }
  return { metadata, configuration }
}

type Configured = Awaited<ReturnType<ReturnType<typeof createConfigurations>['configuration']>>

async function personOf(
  { client, made }: Configured,
  tokens: { readonly access_token: string },
  claims: Claims | null,
  subject: string,
): Promise<Claims | null> {
  if (made.serverMetadata().userinfo_endpoint === undefined) return claims
  const more = await client.fetchUserInfo(made, tokens.access_token, subject)
  return { ...more, ...claims, sub: subject }
}

/** OpenID Connect by `openid-client`, which is loaded when somebody signs in and not before. */
export function createProviderClient(options: ProviderClientOptions): ProviderClient {
  const { metadata, configuration } = createConfigurations(options)
  return {
    metadata,
    begin: async (provider, redirectUri) => {
      const { client, made } = await configuration(provider)
      const round = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      }
      const { scopes } = provider.settings
      const url = client.buildAuthorizationUrl(made, {
        redirect_uri: redirectUri,
        scope: [...new Set(['openid', ...scopes])].join(' '),
        state: round.state,
        nonce: round.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(round.verifier),
        code_challenge_method: 'S256',
        // What OpenID Connect asks for before it hands out a refresh token.
        ...(scopes.includes('offline_access') && { prompt: 'consent' }),
      })
      return { url: shownAddress(url, provider), round }
    },
    finish: async (provider, answer, { state, nonce, verifier }) => {
      const parts = await configuration(provider)
      const { client, made } = parts
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
      const tokens = await client.authorizationCodeGrant(made, answer, checks)
      const own = tokens.claims() as Claims
      const claims = (await personOf(parts, tokens, own, own.sub)) ?? own
      return { claims, tokens: { refreshToken: tokens.refresh_token ?? null, idToken: tokens.id_token ?? null } }
    },
    refresh: async (provider, refreshToken, subject) => {
      try {
        const parts = await configuration(provider)
        const tokens = await parts.client.refreshTokenGrant(parts.made, refreshToken)
        const own = (tokens.claims() as Claims | undefined) ?? null
        if (own !== null && own.sub !== subject) return { kind: 'gone', detail: 'It answered for somebody else.' }
        const claims = await personOf(parts, tokens, own, subject)
        const kept = { refreshToken: tokens.refresh_token ?? refreshToken, idToken: tokens.id_token ?? null }
        return { kind: 'here', claims, tokens: kept }
      } catch (error) {
        return { kind: isGone(error) ? 'gone' : 'unreachable', detail: reasonOf(error) }
      }
    },
    endUrl: async (provider, idToken, backTo) => {
      const { client, made } = await configuration(provider)
      if (made.serverMetadata().end_session_endpoint === undefined) return null
      const hint = idToken === null ? {} : { id_token_hint: idToken }
      const url = client.buildEndSessionUrl(made, { post_logout_redirect_uri: backTo, ...hint })
      return shownAddress(url, provider)
    },
  }
}

/** Browsers are led there, and a script in an address would run in the page of this service. */
function shownAddress(url: URL, { settings: { issuer } }: KnownProvider): string {
  if (url.protocol !== 'https:' && url.protocol !== new URL(issuer).protocol)
    throw new Error(`Its metadata lead browsers to an address of the kind "${url.protocol.slice(0, 20)}".`)
  return url.href
}

const library = () => import('openid-client')

/** RFC 6749: the grant is no more. Anything else, such as a wrong client secret, says nothing of the person. */
function isGone(error: unknown): boolean {
  const { error: code, status, code: kind } = error as { error?: unknown; status?: unknown; code?: unknown }
  if (code === 'invalid_grant') return true
  return kind === 'OAUTH_WWW_AUTHENTICATE_CHALLENGE' && (status === 401 || status === 403)
}

export function isUnreachable(error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at instanceof ProviderUnreachable) return true
  return false
}

/** For the log and the administrator. What a provider writes is cut, and holds no token. */
export function reasonOf(error: unknown): string {
  const texts: string[] = []
  for (let at: unknown = error; at instanceof Error && texts.length < 3; at = at.cause) {
    const { error: code, error_description: description } = at as { error?: unknown; error_description?: unknown }
    const said = [code, description].filter((text): text is string => typeof text === 'string')
    texts.push([at.message, ...said].join(': '))
  }
  return (texts.join(' ← ') || String(error)).replace(/[^\x20-\x7e]+/g, ' ').slice(0, 300)
}
