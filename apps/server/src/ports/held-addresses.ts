import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'

export interface Address {
  readonly host: string
  readonly port: number
}

/** An address whose port must stay the service's. */
export interface HeldAddress extends Address {
  /** The service listens there. Beside it stand addresses that mean the same to a browser, where it does not. */
  readonly listens: boolean
}

/**
 * What has to be held for an address: a browser takes `localhost` for `127.0.0.1` and for `::1`, so whoever has one of them
 * is reached by the same links and gets the same cookies as the other. A port that the system chooses is not held.
 */
export async function heldAddresses({ host, port }: Address): Promise<readonly HeldAddress[]> {
  if (port === 0) return []
  const listening = isIP(host) === 0 ? (await lookup(host, { all: true })).map(({ address }) => address) : [host]
  const same = pairs.filter((pair) => pair.some((one) => listening.includes(one))).flat()
  return [...new Set([...listening, ...same])].map((one) => ({ host: one, port, listens: listening.includes(one) }))
}

/** Ports that a program of a project never gets. */
export function servicePorts(config: {
  readonly listen: Address
  readonly proxy: Address | null
  readonly proxyHttps: Address | null
}): readonly number[] {
  return [config.listen, config.proxy, config.proxyHttps].flatMap((address) => (address === null ? [] : [address.port]))
}

/** Written differently, and the same machine for a browser. */
const pairs = [
  ['127.0.0.1', '::1'],
  ['0.0.0.0', '::'],
] as const

export function addressText({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
