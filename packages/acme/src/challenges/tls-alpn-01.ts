import { tlsAlpnCertificate } from '../certificates.ts'
import type { DnsView } from '../dns/view.ts'
import { newKey } from '../protocol/jws.ts'
import { requireAddress } from './http-01.ts'
import type { Solver } from './solver.ts'

export interface TlsAlpn01Answers {
  publish(name: string, certificate: string, key: string): Promise<void>
  withdraw(name: string): Promise<void>
}

export function tlsAlpn01({ publish, withdraw }: TlsAlpn01Answers, dns: DnsView, now: () => Date): Solver {
  return {
    type: 'tls-alpn-01',
    present: async ({ name, keyAuthorization }) => {
      const key = newKey()
      await publish(name, await tlsAlpnCertificate(name, keyAuthorization, key, now()), key)
    },
    ready: ({ name }) => requireAddress(name, dns),
    cleanUp: ({ name }) => withdraw(name),
  }
}
