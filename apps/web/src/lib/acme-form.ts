import type { AcmeInput, AcmeSettings } from '@stackquay/contract'

export const authorities = ['letsencrypt', 'letsencrypt-staging', 'zerossl', 'google'] as const
export type Authority = (typeof authorities)[number] | 'other'

/** What is asked of an authority, as it is typed. */
export interface AcmeDraft {
  readonly authority: Authority
  readonly address: string
  readonly roots: string
  readonly email: string
  readonly challenge: AcmeInput['challenge']
  readonly forwardedPorts: readonly (80 | 443)[]
  readonly provider: string
  readonly settings: Readonly<Record<string, unknown>>
  readonly extent: 'all' | 'some'
  readonly names: string
  readonly wildcard: boolean
  readonly resolvers: string
  readonly keyId: string
  readonly hmacKey: string
  readonly agreed: boolean
}

export function draftOf(settings: AcmeSettings | null, provider: string): AcmeDraft {
  const known = authorities.find((one) => one === settings?.directory)
  const isOther = settings !== null && known === undefined
  return {
    authority: isOther ? 'other' : (known ?? 'letsencrypt'),
    address: isOther ? settings.directory : '',
    roots: settings?.roots ?? '',
    email: settings?.email ?? '',
    challenge: settings?.challenge ?? 'http-01',
    forwardedPorts: settings?.forwardedPorts ?? [],
    provider: settings?.dns?.provider ?? provider,
    settings: settings?.dns?.settings ?? {},
    extent: settings?.names == null ? 'all' : 'some',
    names: (settings?.names ?? []).join('\n'),
    wildcard: settings?.wildcard ?? false,
    resolvers: (settings?.resolvers ?? []).join(', '),
    keyId: settings?.externalAccount?.keyId ?? '',
    hmacKey: '',
    agreed: settings !== null,
  }
}

/** `has…` beside a secret is what the service answers; it takes none of it back. */
export function inputOf(draft: AcmeDraft): AcmeInput {
  const isOther = draft.authority === 'other'
  const byDns = draft.challenge === 'dns-01'
  const settings = Object.entries(draft.settings).filter(
    ([key, value]) => !/^has[A-Z]/.test(key) && value !== null && value !== '',
  )
  return {
    directory: isOther ? draft.address.trim() : draft.authority,
    roots: isOther && draft.roots.trim() !== '' ? draft.roots : null,
    email: draft.email.trim() === '' ? null : draft.email.trim(),
    termsAgreed: true,
    challenge: draft.challenge,
    names: draft.extent === 'all' ? null : wordsOf(draft.names),
    wildcard: byDns && draft.wildcard,
    forwardedPorts: byDns ? [] : [...draft.forwardedPorts],
    resolvers: wordsOf(draft.resolvers),
    dns: byDns ? { provider: draft.provider, settings: Object.fromEntries(settings) } : null,
    externalAccount:
      draft.keyId.trim() === ''
        ? null
        : { keyId: draft.keyId.trim(), ...(draft.hmacKey === '' ? {} : { hmacKey: draft.hmacKey.trim() }) },
  }
}

function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}
