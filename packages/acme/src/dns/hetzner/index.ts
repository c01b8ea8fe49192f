import { z } from 'zod'
import type { HttpsCall } from '../../protocol/https-request.ts'
import {
  callProvider,
  type DnsProvider,
  dnsProviderKind,
  endpointSetting,
  nameInZone,
  type ProviderOutside,
  providerFailed,
  secretSetting,
  zonesAbove,
} from '../provider.ts'

export const hetzner = dnsProviderKind({
  name: 'hetzner',
  label: 'Hetzner',
  settings: z.strictObject({
    token: secretSetting('An API token of the Cloud project that the zone is in, to read and write.'),
    endpoint: endpointSetting('https://api.hetzner.cloud/v1'),
  }),
  open: ({ token, endpoint }, outside) => openHetzner(endpoint.replace(/\/$/, ''), token, outside),
})

const who = 'Hetzner'
const Failure = z.object({ error: z.object({ code: z.string(), message: z.string() }) })

function openHetzner(endpoint: string, token: string, outside: ProviderOutside): DnsProvider {
  /** Null for what is not there. */
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
    if (answer.status === 404) return null
    if (answer.status < 300) return answer
    const failure = Failure.safeParse(answer.json)
    const said = failure.success
      ? `${failure.data.error.message} (${failure.data.error.code})`
      : `status ${answer.status}`
    throw providerFailed(who, said)
  }
  const rrsetOf = async (name: string, signal: AbortSignal): Promise<string> => {
    for (const zone of zonesAbove(name)) {
      const path = `/zones/${encodeURIComponent(zone)}`
      if ((await call('GET', path, signal)) !== null)
        return `${path}/rrsets/${encodeURIComponent(nameInZone(name, zone))}/TXT`
    }
    throw providerFailed(who, `the token sees no zone that ${name} is in. Check which project it is of.`)
  }
  // Adding and removing say which records: what else has the same name stays.
  const recordOf = (value: string) => ({ value: `"${value}"` })
  return {
    addTxt: async ({ name, value }, signal) => {
      const rrset = await rrsetOf(name, signal)
      const there = await call('GET', rrset, signal)
      if (there?.text.includes(value) === true) return
      const body = { ttl: 60, records: [recordOf(value)] }
      if ((await call('POST', `${rrset}/actions/add_records`, signal, body)) === null)
        throw providerFailed(who, `it does not find the zone of ${name} any more`)
    },
    removeTxt: async ({ name, value }, signal) => {
      const rrset = await rrsetOf(name, signal)
      const there = await call('GET', rrset, signal)
      if (there?.text.includes(value) !== true) return
      await call('POST', `${rrset}/actions/remove_records`, signal, { records: [recordOf(value)] })
    },
  }
}
