import { addressesOf, type DnsView } from '../dns/view.ts'
import { AcmeError } from '../failure.ts'
import type { Solver } from './solver.ts'

export interface Http01Answers {
  publish(name: string, token: string, answer: string): Promise<void>
  withdraw(name: string, token: string): Promise<void>
  /** Asks our own listener as the authority will. Null when it answers as it should, else what it answered. */
  readonly check?: ((name: string, token: string, answer: string) => Promise<string | null>) | undefined
}

export function http01({ publish, withdraw, check }: Http01Answers, dns: DnsView): Solver {
  return {
    type: 'http-01',
    present: ({ name, token, keyAuthorization }) => publish(name, token, keyAuthorization),
    ready: async ({ name, token, keyAuthorization }) => {
      await requireAddress(name, dns)
      const wrong = (await check?.(name, token, keyAuthorization)) ?? null
      if (wrong !== null)
        throw new AcmeError(
          'challenge_unavailable',
          `The proxy does not answer the proof for ${name} itself: ${wrong}. The certificate authority was not asked.`,
          { name },
        )
    },
    cleanUp: ({ name, token }) => withdraw(name, token),
  }
}

/** A name without any address fails for sure: the authority need not be asked, which would count as a failure there. */
export async function requireAddress(name: string, dns: DnsView): Promise<void> {
  if ((await addressesOf(name, dns)) === 'none')
    throw new AcmeError(
      'dns_not_found',
      `${name} has no address in the DNS. Add an A or AAAA record that leads to this machine.`,
      { name },
    )
}
