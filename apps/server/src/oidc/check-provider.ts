import type { OidcTested } from '@stackquay/contract'
import { isLoopback } from '@stackquay/domain'
import type { Config } from '../config.ts'
import { guardedFetch } from './guarded-fetch.ts'
import { type ProviderClient, reasonOf } from './provider.ts'
import { redirectUriOf } from './settings.ts'

type Check = OidcTested['checks'][number]

export interface CheckDeps {
  readonly config: Pick<Config, 'publicUrl'>
  readonly provider: Pick<ProviderClient, 'metadata'>
  readonly now: () => number
}

/** Everything that can be known without signing in. */
export async function checkProvider(issuer: string, deps: CheckDeps): Promise<Check[]> {
  const { provider, now } = deps
  const check = async (name: Check['name'], work: () => Promise<string>): Promise<Check> => {
    try {
      return { name, ok: true, detail: await work() }
    } catch (error) {
      return { name, ok: false, detail: reasonOf(error) }
    }
  }
  const fetch = guardedFetch({ loopback: isLoopback(new URL(issuer).hostname) })
  let answer: Response | null = null
  const discovery = await check('discovery', async () => {
    const { authorization_endpoint, token_endpoint, userinfo_endpoint, end_session_endpoint } =
      await provider.metadata(issuer)
    if (authorization_endpoint === undefined || token_endpoint === undefined)
      throw new Error('Its metadata name no place to sign in, or none for tokens.')
    const more = [userinfo_endpoint && 'user info', end_session_endpoint && 'log-out'].filter(Boolean)
    return `Found${more.length === 0 ? '' : `, with ${more.join(' and ')}`}.`
  })
  const keys = await check('keys', async () => {
    const { jwks_uri } = await provider.metadata(issuer)
    if (jwks_uri === undefined) throw new Error('Its metadata name no keys.')
    answer = await fetch(jwks_uri, {})
    const { keys: found } = (await answer.json()) as { keys?: unknown }
    if (!answer.ok || !Array.isArray(found) || found.length === 0) throw new Error('It answers no keys.')
    return `${found.length} of them.`
  })
  const redirect = await check('redirect', async () => redirectDetail(issuer, deps.config.publicUrl))
  const clock = await check('clock', async () => {
    const date = Date.parse((answer as Response | null)?.headers.get('date') ?? '')
    if (Number.isNaN(date)) return 'The provider does not tell its time.'
    const apart = Math.round(Math.abs(now() - date) / 1000)
    if (apart > 60) throw new Error(`The clocks are ${apart} s apart; tokens are refused beyond 60 s.`)
    return `${apart} s apart.`
  })
  return [discovery, keys, redirect, clock]
}

function redirectDetail(issuer: string, publicUrl: string): string {
  const url = new URL(publicUrl)
  const uri = redirectUriOf(publicUrl)
  if (isLoopback(url.hostname) && !isLoopback(new URL(issuer).hostname))
    return `${uri} leads only browsers on this machine back. Set the public address (STACKQUAY_PUBLIC_URL) for others.`
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new Error(`${uri} is without TLS, which most providers refuse. Set the public address to an https one.`)
  return `Register ${uri} at the provider.`
}
