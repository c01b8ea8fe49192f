import { createHash, createHmac } from 'node:crypto'
import { z } from 'zod'
import {
  callProvider,
  type DnsProvider,
  dnsProviderKind,
  endpointSetting,
  type ProviderAnswer,
  type ProviderOutside,
  providerFailed,
  secretSetting,
  textSetting,
  zonesAbove,
} from '../provider.ts'

export const route53 = dnsProviderKind({
  name: 'route53',
  label: 'Amazon Route 53',
  settings: z.strictObject({
    accessKeyId: textSetting('Of a user that may list zones and change their records.', 128),
    secretAccessKey: secretSetting('Belongs to the access key.'),
    endpoint: endpointSetting('https://route53.amazonaws.com'),
  }),
  open: (settings, outside) => openRoute53(settings, outside),
})

const who = 'Route 53'
const version = '/2013-04-01'

interface Access {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly endpoint: string
}

function openRoute53(access: Access, outside: ProviderOutside): DnsProvider {
  const call = (
    method: 'GET' | 'POST',
    path: string,
    query: Record<string, string>,
    signal: AbortSignal,
    body?: string,
  ) =>
    signedCall(
      access,
      outside,
      { method, path: `${version}${path}`, query, ...(body === undefined ? {} : { body }) },
      signal,
    )

  const zoneOf = async (name: string, signal: AbortSignal): Promise<string> => {
    for (const zone of zonesAbove(name)) {
      const { text } = await call('GET', '/hostedzonesbyname', { dnsname: zone, maxitems: '5' }, signal)
      // Private zones are not what the outside asks.
      const found = elements(text, 'HostedZone').find(
        (one) => element(one, 'Name') === `${zone}.` && element(one, 'PrivateZone') !== 'true',
      )
      const id = found === undefined ? null : element(found, 'Id')
      if (id !== null) return id.replace(/^\/hostedzone\//, '')
    }
    throw providerFailed(who, `the access key sees no public zone that ${name} is in.`)
  }
  const valuesOf = async (zone: string, name: string, signal: AbortSignal): Promise<readonly string[]> => {
    const query = { name, type: 'TXT', maxitems: '1' }
    const { text } = await call('GET', `/hostedzone/${zone}/rrset`, query, signal)
    const [set] = elements(text, 'ResourceRecordSet')
    if (set === undefined || element(set, 'Name') !== `${name}.` || element(set, 'Type') !== 'TXT') return []
    return elements(set, 'Value').map(unescaped)
  }
  const change = async (
    zone: string,
    act: 'UPSERT' | 'DELETE',
    name: string,
    values: readonly string[],
    signal: AbortSignal,
  ) => {
    const records = values.map((value) => `<ResourceRecord><Value>${escaped(value)}</Value></ResourceRecord>`).join('')
    const body = `<?xml version="1.0" encoding="UTF-8"?><ChangeResourceRecordSetsRequest xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ChangeBatch><Changes><Change><Action>${act}</Action><ResourceRecordSet><Name>${escaped(name)}.</Name><Type>TXT</Type><TTL>60</TTL><ResourceRecords>${records}</ResourceRecords></ResourceRecordSet></Change></Changes></ChangeBatch></ChangeResourceRecordSetsRequest>`
    await call('POST', `/hostedzone/${zone}/rrset`, {}, signal, body)
  }
  // Values of a name are one set here: it is read and written whole.
  return {
    addTxt: async ({ name, value }, signal) => {
      const zone = await zoneOf(name, signal)
      const values = await valuesOf(zone, name, signal)
      if (!values.includes(`"${value}"`)) await change(zone, 'UPSERT', name, [...values, `"${value}"`], signal)
    },
    removeTxt: async ({ name, value }, signal) => {
      const zone = await zoneOf(name, signal)
      const values = await valuesOf(zone, name, signal)
      if (!values.includes(`"${value}"`)) return
      const others = values.filter((other) => other !== `"${value}"`)
      await (others.length > 0
        ? change(zone, 'UPSERT', name, others, signal)
        : change(zone, 'DELETE', name, values, signal))
    },
  }
}

interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly query: Record<string, string>
  readonly body?: string
}

async function signedCall(
  access: Access,
  outside: ProviderOutside,
  call: Call,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  const { SignatureV4 } = await import('@smithy/signature-v4')
  const { accessKeyId, secretAccessKey, endpoint } = access
  const url = new URL(endpoint)
  // Route 53 is one service for the world; its requests are signed for this region.
  const signer = new SignatureV4({
    service: 'route53',
    region: 'us-east-1',
    credentials: { accessKeyId, secretAccessKey },
    sha256: Sha256,
  })
  const signed = await signer.sign(
    {
      method: call.method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: call.path,
      query: call.query,
      headers: { host: url.host, ...(call.body === undefined ? {} : { 'content-type': 'application/xml' }) },
      ...(call.body === undefined ? {} : { body: call.body }),
    },
    { signingDate: outside.now() },
  )
  const query = new URLSearchParams(call.query).toString()
  const answer = await callProvider(
    who,
    {
      method: call.method,
      url: `${url.origin}${call.path}${query === '' ? '' : `?${query}`}`,
      headers: signed.headers,
      ...(call.body === undefined ? {} : { body: call.body }),
    },
    outside,
    signal,
  )
  if (answer.status < 300) return answer
  throw providerFailed(who, element(answer.text, 'Message') ?? `status ${answer.status}`)
}

/** What the signer asks for. */
class Sha256 {
  readonly #hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret))
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data))
  }

  async digest(): Promise<Uint8Array> {
    return new Uint8Array(this.#hash.digest())
  }

  reset(): void {}
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data)
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)
}

/* The few elements that are read have no attributes and do not hold themselves. */

function elements(xml: string, tag: string): readonly string[] {
  return [...xml.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'gs'))].map((match) => match[1]!)
}

function element(xml: string, tag: string): string | null {
  const text = elements(xml, tag)[0]
  return text === undefined ? null : unescaped(text)
}

function unescaped(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
