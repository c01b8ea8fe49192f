import { z } from 'zod'
import type { HttpsCall } from '../../protocol/https-request.ts'
import {
  callProvider,
  type DnsProvider,
  dnsProviderKind,
  endpointSetting,
  type ProviderOutside,
  providerFailed,
  secretSetting,
  type TxtRecord,
  zonesAbove,
} from '../provider.ts'

export const cloudflare = dnsProviderKind({
  name: 'cloudflare',
  label: 'Cloudflare',
  settings: z.strictObject({
    token: secretSetting('An API token with Zone:Read and DNS:Edit for the zone.'),
    endpoint: endpointSetting('https://api.cloudflare.com/client/v4'),
  }),
  open: ({ token, endpoint }, outside) => openCloudflare(endpoint.replace(/\/$/, ''), token, outside),
})

const who = 'Cloudflare'
const Answer = z.object({
  success: z.boolean(),
  errors: z.array(z.object({ code: z.number().optional(), message: z.string() })).default([]),
  result: z.unknown(),
})
const Zones = z.array(z.object({ id: z.string(), name: z.string() }))
const Records = z.array(z.object({ id: z.string(), content: z.string() }))
/** Cloudflare's code for a record that is there already. */
const alreadyThere = 81058

function openCloudflare(endpoint: string, token: string, outside: ProviderOutside): DnsProvider {
  const call = async (method: HttpsCall['method'], path: string, signal: AbortSignal, body?: object) => {
    const answer = await callProvider(
      who,
      {
        method,
        url: `${endpoint}${path}`,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      },
      outside,
      signal,
    )
    const parsed = Answer.safeParse(answer.json)
    if (!parsed.success) throw providerFailed(who, `status ${answer.status}`)
    const { success, errors, result } = parsed.data
    if (success || errors.some(({ code }) => code === alreadyThere)) return result
    throw providerFailed(who, errors.map(({ code, message }) => `${message} (${code ?? answer.status})`).join(', '))
  }
  const zoneOf = async (name: string, signal: AbortSignal): Promise<string> => {
    for (const zone of zonesAbove(name)) {
      const [found] = Zones.parse(await call('GET', `/zones?name=${encodeURIComponent(zone)}`, signal))
      if (found !== undefined) return found.id
    }
    throw providerFailed(who, `the token sees no zone that ${name} is in. Check which zones it may edit.`)
  }
  const recordsOf = (zone: string) => `/zones/${encodeURIComponent(zone)}/dns_records`
  return {
    addTxt: async ({ name, value }, signal) => {
      const body = { type: 'TXT', name, content: `"${value}"`, ttl: 60, comment: 'Stackquay: proof for a certificate' }
      await call('POST', recordsOf(await zoneOf(name, signal)), signal, body)
    },
    removeTxt: async (record: TxtRecord, signal) => {
      const zone = await zoneOf(record.name, signal)
      const path = `${recordsOf(zone)}?type=TXT&per_page=100&name=${encodeURIComponent(record.name)}`
      const records = Records.parse(await call('GET', path, signal))
      for (const { id } of records.filter(({ content }) => content.replaceAll('"', '') === record.value))
        await call('DELETE', `${recordsOf(zone)}/${encodeURIComponent(id)}`, signal)
    },
  }
}
