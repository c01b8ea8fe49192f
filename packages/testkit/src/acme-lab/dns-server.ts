import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { spawnTracked } from '../processes.ts'
import { waitFor } from '../wait-for.ts'

export interface DnsZone {
  readonly name: string
  /** Lines of a zone file. The server's own name and address are there already. */
  readonly records: readonly string[]
  /** Whether the key may write TXT records into it. */
  readonly isDynamic: boolean
}

export interface ServeDnsOptions {
  readonly zones: readonly DnsZone[]
}

export interface DnsServer extends AsyncDisposable {
  readonly port: number
  readonly address: string
  readonly key: { readonly name: string; readonly algorithm: 'hmac-sha256'; readonly secret: string }
  txt(name: string): Promise<readonly string[]>
}

const keyName = 'lab-key'

/** A real BIND on loopback that is the authority of these zones and takes signed updates. */
export async function serveDns(folder: string, { zones }: ServeDnsOptions): Promise<DnsServer> {
  await mkdir(folder, { recursive: true })
  const port = await freePort()
  const secret = randomBytes(32).toString('base64')
  for (const zone of zones) await writeFile(join(folder, `${zone.name}.zone`), zoneFile(zone))
  await writeFile(
    join(folder, 'root.zone'),
    '$TTL 1\n. IN SOA a. b. 1 3600 600 86400 1\n. IN NS a.\na. IN A 127.0.0.1\n',
  )
  await writeFile(join(folder, 'named.conf'), configuration(folder, port, secret, zones))
  const named = spawnTracked(['/usr/sbin/named', '-g', '-n', '1', '-c', join(folder, 'named.conf')])
  const address = `127.0.0.1:${port}`
  const resolver = new Resolver({ timeout: 1000, tries: 1 })
  resolver.setServers([address])
  await waitFor(`BIND at ${address}`, async () => (await resolver.resolveSoa(zones[0]!.name)) !== undefined, {
    timeoutMs: 30_000,
  }).catch((error: unknown) => {
    throw new Error(`BIND does not answer:\n${named.output()}`, { cause: error })
  })
  return {
    port,
    address,
    key: { name: keyName, algorithm: 'hmac-sha256', secret },
    txt: async (name) =>
      resolver.resolveTxt(name).then(
        (found) => found.map((parts) => parts.join('')),
        () => [],
      ),
    [Symbol.asyncDispose]: () => named.end(),
  }
}

function zoneFile({ name, records }: DnsZone): string {
  return [
    '$TTL 1',
    `@ IN SOA ns.${name}. hostmaster.${name}. 1 3600 600 86400 1`,
    `@ IN NS ns.${name}.`,
    `ns.${name}. IN A 127.0.0.1`,
    ...records,
    '',
  ].join('\n')
}

function configuration(folder: string, port: number, secret: string, zones: readonly DnsZone[]): string {
  const of = ({ name, isDynamic }: DnsZone) =>
    `zone "${name}" { type primary; file "${folder}/${name}.zone"; ${isDynamic ? `update-policy { grant ${keyName} zonesub TXT; };` : ''} };`
  return [
    `key "${keyName}" { algorithm hmac-sha256; secret "${secret}"; };`,
    `options { directory "${folder}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; pid-file none;`,
    'session-keyfile none; recursion yes; dnssec-validation no; notify no; empty-zones-enable no; };',
    'controls { };',
    // It follows CNAMEs from zone to zone, and never asks anybody: the root is its own.
    `zone "." { type primary; file "${folder}/root.zone"; };`,
    ...zones.map(of),
    '',
  ].join('\n')
}
