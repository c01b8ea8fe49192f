import { isIP } from 'node:net'
import { ProblemError } from '@stackquay/contract'
import type { RequestContext } from '../../http/handler.ts'

/** Who a passkey is for: a host name, and the one origin at it that may ask for it. */
export interface RelyingParty {
  readonly id: string
  readonly origin: string
}

export interface OwnAddresses {
  readonly publicUrl: string
  readonly listen: { readonly port: number }
}

/**
 * The page's own origins, by what the service was told and never by what a request says of itself: a project's program on
 * another port can put its own page before ours, and send whatever `Host` and `Origin` it likes. The port of `localhost` is
 * the one that the service holds.
 */
export function relyingPartyOf(request: Pick<RequestContext, 'header'>, own: OwnAddresses): RelyingParty {
  const origin = request.header('origin')
  const host = request.header('host')?.toLowerCase()
  const parties = partiesOf(own)
  const found = parties.find((party) =>
    origin === null ? new URL(party.origin).host === host : party.origin === origin,
  )
  if (found !== undefined) return found
  const usable = parties.map((party) => party.origin).join(' or ')
  throw new ProblemError('passkey_unavailable', `Passkeys are not for ${origin ?? host ?? 'this address'}.`, {
    hint: `Open the page under ${usable}, or set STACKQUAY_PUBLIC_URL to its https address; browsers take no passkey for an IP address.`,
  })
}

function partiesOf({ publicUrl, listen }: OwnAddresses): readonly RelyingParty[] {
  const { origin, hostname: id, protocol } = new URL(publicUrl)
  const isLoopback = id === 'localhost' || id.endsWith('.localhost')
  const isName = isIP(id.replace(/^\[|\]$/g, '')) === 0
  const local = { id: 'localhost', origin: `http://localhost:${listen.port}` }
  return isName && (protocol === 'https:' || isLoopback) && origin !== local.origin ? [{ id, origin }, local] : [local]
}
