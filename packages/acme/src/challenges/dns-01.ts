import { createHash } from 'node:crypto'
import type { DnsProvider } from '../dns/provider.ts'
import { type DnsView, delegatedName, waitUntilVisible } from '../dns/view.ts'
import { recordName } from '../rules/names.ts'
import type { Proof, Solver } from './solver.ts'

export interface Dns01Patience {
  /** How long all authoritative servers may take to answer the record. */
  readonly visibleWithinMs: number
  readonly pauseMs: number
}

export const usualDnsPatience: Dns01Patience = { visibleWithinMs: 5 * 60_000, pauseMs: 2000 }

export function dns01(provider: DnsProvider, dns: DnsView, patience: Dns01Patience = usualDnsPatience): Solver {
  // Where it is: a CNAME of `_acme-challenge` may lead into another zone, which is the only one that is written then.
  const recordOf = async ({ name, keyAuthorization }: Proof) => ({
    name: await delegatedName(recordName(name), dns),
    value: createHash('sha256').update(keyAuthorization).digest('base64url'),
  })
  return {
    type: 'dns-01',
    present: async (proof, signal) => provider.addTxt(await recordOf(proof), signal),
    ready: async (proof, signal) => waitUntilVisible(await recordOf(proof), dns, patience, signal),
    cleanUp: async (proof, signal) => provider.removeTxt(await recordOf(proof), signal),
  }
}
