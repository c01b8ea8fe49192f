import { X509Certificate } from 'node:crypto'
import {
  AcmeError,
  challengeRefusal,
  checkAuthority,
  directoryOf,
  isPublicName,
  type KnownAuthority,
  knownAuthorities,
  type ReachablePorts,
  wantedCertificates,
} from '@stackquay/acme'
import type { AcmeInput } from '@stackquay/contract'
import type { Config } from '../../config.ts'
import { checkedLookup } from '../../webhooks/post.ts'
import { addressBlocker } from '../../webhooks/receivers.ts'
import { refused } from './refused.ts'
import type { StoredAcme } from './stored.ts'

/** A port of the outside is the proxy's when it listens there, or when a person says that it is forwarded. */
export function reachablePorts(
  { proxy, proxyHttps }: Pick<Config, 'proxy' | 'proxyHttps'>,
  { forwardedPorts }: Pick<StoredAcme, 'forwardedPorts'>,
): ReachablePorts {
  return {
    http: proxy !== null && (proxy.port === 80 || forwardedPorts.includes(80)),
    https: proxy !== null && proxyHttps !== null && (proxyHttps.port === 443 || forwardedPorts.includes(443)),
  }
}

/** Looks at all that can be known without asking anybody. Throws `validation_failed`. */
export function checkInput(input: AcmeInput, config: Config): void {
  checkDirectory(input)
  if (input.challenge === 'dns-01' && input.dns === null)
    throw refused([{ pointer: '/dns', code: 'needed', detail: 'DNS-01 needs a DNS provider that writes the records.' }])
  const { wildcard, names } = input
  const isOfAnybody = input.roots === null
  if (wildcard && isOfAnybody && !isPublicName(config.baseDomain)) {
    const detail = `The base domain ${config.baseDomain} is not a public name. Set another one in the settings first.`
    throw refused([{ pointer: '/wildcard', code: 'not_public', detail }])
  }
  for (const [index, name] of (names ?? []).entries()) {
    if (isOfAnybody ? isPublicName(name.toLowerCase()) : /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(name)) continue
    const detail = `No public authority gives a certificate for "${name}". For names of your own network switch on the local authority.`
    throw refused([{ pointer: `/names/${index}`, code: 'not_public', detail }])
  }
  const wanted = wantedCertificates({ names, wildcard, baseDomain: config.baseDomain, hosts: [] })
  const all = wanted.flatMap((one) => one.names)
  const why = challengeRefusal(input.challenge, all, reachablePorts(config, input))
  if (why !== null) throw refused([{ pointer: '/challenge', code: why.code, detail: why.detail }])
}

function checkDirectory({ directory, roots }: AcmeInput): void {
  const url = URL.parse(directoryOf(directory))
  const isUsable = url?.protocol === 'https:' && url.username === '' && url.password === ''
  if (!isUsable) {
    const known = Object.keys(knownAuthorities).join(', ')
    const detail = `"${directory}" is none of ${known}, and no https:// address.`
    throw refused([{ pointer: '/directory', code: 'unknown_authority', detail }])
  }
  const blocker = addressBlocker(url.hostname.replace(/^\[|\]$/g, ''))
  if (blocker !== null) throw refused([{ pointer: '/directory', code: 'not_allowed', detail: blocker }])
  if (roots === null) return
  try {
    new X509Certificate(roots)
  } catch {
    throw refused([{ pointer: '/roots', code: 'not_pem', detail: 'This is no certificate in PEM.' }])
  }
}

const askMs = 20_000

/** Asks the authority what it needs. Throws `validation_failed`, also when it does not answer: then nothing would come of it. */
export async function askAuthority(input: AcmeInput, now: () => Date, signal: AbortSignal): Promise<KnownAuthority> {
  const known = await checkAuthority({
    directoryUrl: directoryOf(input.directory),
    roots: input.roots ?? undefined,
    lookup: checkedLookup(addressBlocker),
    now,
    signal: AbortSignal.any([signal, AbortSignal.timeout(askMs)]),
  }).catch((error: unknown) => {
    if (error instanceof AcmeError) {
      const pointer = error.code === 'server_untrusted' ? '/roots' : '/directory'
      throw refused([{ pointer, code: error.code, detail: error.message }])
    }
    signal.throwIfAborted()
    throw refused([
      { pointer: '/directory', code: 'server_unreachable', detail: `It did not answer within ${askMs / 1000} s.` },
    ])
  })
  if (known.externalAccountRequired && input.externalAccount === null) {
    const detail = `${known.host} gives certificates only to accounts it knows. Give the key ID and the HMAC key that it shows for external account binding.`
    throw refused([{ pointer: '/externalAccount', code: 'external_account_required', detail }])
  }
  return known
}
