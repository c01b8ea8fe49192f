import type { Reach } from './protocol/https-request.ts'
import { askRenewalWindow, renewalId } from './protocol/renewal-info.ts'
import { openSession } from './protocol/session.ts'
import type { RenewalWindow } from './rules/renewal.ts'

export interface AuthorityOptions extends Reach {
  readonly directoryUrl: string
  readonly now: () => Date
  readonly signal: AbortSignal
}

export interface KnownAuthority {
  readonly host: string
  readonly termsOfService: string | null
  readonly externalAccountRequired: boolean
  readonly profiles: readonly string[]
}

/** What the authority says of itself. Fails as `obtain` would: unreachable, not trusted, the clock. */
export async function checkAuthority(options: AuthorityOptions): Promise<KnownAuthority> {
  const { directory, host } = await openSession(options)
  return {
    host,
    termsOfService: directory.meta?.termsOfService ?? null,
    externalAccountRequired: directory.meta?.externalAccountRequired ?? false,
    profiles: Object.keys(directory.meta?.profiles ?? {}),
  }
}

/** When the authority wants this certificate renewed, and how it names it in an order. Null where it does not say. */
export async function renewalWindow(
  certificate: string,
  options: AuthorityOptions,
): Promise<{ readonly id: string; readonly window: RenewalWindow } | null> {
  const id = renewalId(certificate)
  if (id === null) return null
  const session = await openSession(options)
  const window = await askRenewalWindow(session, id, options.now())
  return window === null ? null : { id, window }
}
