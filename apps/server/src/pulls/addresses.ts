import type { LookupFunction } from 'node:net'
import { ProblemError } from '@stackquay/contract'
import { checkedLookup } from '../webhooks/post.ts'
import { isRefusedAddress } from '../webhooks/receivers.ts'

/**
 * The rule of webhooks: any address that a person names, the own network too, but none at which a cloud answers whoever asks from this
 * machine. Throws for such a host.
 */
export function requireAddress(host: string): void {
  const blocker = blockerOf(host)
  if (blocker !== null) throw new ProblemError('remote_refused', blocker)
}

/** Names are looked at where the connection is made, so that one cannot mean another address then. */
export const remoteLookup: LookupFunction = checkedLookup(blockerOf)

function blockerOf(host: string): string | null {
  return isRefusedAddress(host) ? `Nothing is pulled from ${host}: it belongs to the machine itself.` : null
}
