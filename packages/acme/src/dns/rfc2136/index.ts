import { Resolver, lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { z } from 'zod'
import {
  type DnsProvider,
  dnsProviderKind,
  type ProviderOutside,
  providerFailed,
  secretSetting,
  type TxtRecord,
  textSetting,
  zonesAbove,
} from '../provider.ts'
import { exchange } from './exchange.ts'
import { rcodeName, readAnswer, type TsigKey, tsigAlgorithms, updateMessage } from './message.ts'

export const rfc2136 = dnsProviderKind({
  name: 'rfc2136',
  label: 'Dynamic update (RFC 2136): BIND, Knot, PowerDNS, Windows',
  settings: z.strictObject({
    server: textSetting('Host name or address of the primary server.'),
    port: z.int().min(1).max(65_535).default(53).meta({ description: 'Its port, TCP.' }),
    keyName: textSetting('Name of the TSIG key.'),
    algorithm: z.enum(tsigAlgorithms).default('hmac-sha256').meta({ description: 'Of the TSIG key.' }),
    secret: secretSetting('The TSIG key, base64.'),
  }),
  open: ({ server, port, keyName, algorithm, secret }, outside) =>
    openRfc2136({ server, port, key: { name: keyName, algorithm, secret: Buffer.from(secret, 'base64') } }, outside),
})

interface Access {
  readonly server: string
  readonly port: number
  readonly key: TsigKey
}

function openRfc2136({ server, port, key }: Access, { now }: ProviderOutside): DnsProvider {
  const who = `DNS server ${server}`
  const update = async (act: 'add' | 'remove', record: TxtRecord, signal: AbortSignal) => {
    const address = isIP(server) > 0 ? server : (await found(who, systemLookup(server))).address
    const zone = await zoneOf(record.name, address, port)
    if (zone === null)
      throw providerFailed(
        who,
        `it answers for no zone that ${record.name} is in. Check the server, or where the CNAME leads.`,
      )
    const { bytes, requestMac } = updateMessage({ act, zone, record, key, now: now() })
    const answer = readAnswer(await exchange(who, address, port, bytes, signal), { key, requestMac, asked: bytes })
    if (answer.error !== null) throw providerFailed(who, answer.error)
    if (answer.rcode !== 0)
      throw providerFailed(
        who,
        `it refuses the update of ${zone} (${rcodeName(answer.rcode)}). Check what the key ${key.name} may do.`,
      )
  }
  return {
    addTxt: (record, signal) => update('add', record, signal),
    removeTxt: (record, signal) => update('remove', record, signal),
  }
}

async function found<Value>(who: string, asked: Promise<Value>): Promise<Value> {
  return asked.catch((error: unknown) => {
    throw providerFailed(who, (error as Error).message, error)
  })
}

/** The server is asked itself: what it calls its zone is what it updates. */
async function zoneOf(name: string, address: string, port: number): Promise<string | null> {
  const resolver = new Resolver({ timeout: 3000, tries: 2 })
  resolver.setServers([address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`])
  for (const zone of zonesAbove(name)) {
    const soa = await resolver.resolveSoa(zone).catch(() => null)
    if (soa !== null) return zone
  }
  return null
}
