import { createHmac, randomUUID } from 'node:crypto'
import { z } from 'zod'
import {
  callProvider,
  type DnsProvider,
  dnsProviderKind,
  type ProviderOutside,
  providerFailed,
  secretSetting,
  type TxtRecord,
} from '../provider.ts'

export const webhook = dnsProviderKind({
  name: 'webhook',
  label: 'Webhook: a program of your own',
  settings: z.strictObject({
    url: z
      .url({ protocol: /^https?$/ })
      .max(2000)
      .meta({ description: 'Gets a POST of {type, name, value}; type is dns.present or dns.cleanup.' }),
    secret: secretSetting('Signs as Standard Webhooks do: whsec_ and base64.').regex(
      /^whsec_[A-Za-z0-9+/=]{24,}$/,
      'must be whsec_ and at least 24 characters of base64',
    ),
  }),
  open: ({ url, secret }, outside) => openWebhook(url, secret, outside),
})

const who = 'Webhook of the DNS'

function openWebhook(url: string, secret: string, outside: ProviderOutside): DnsProvider {
  const tell = async (type: string, { name, value }: TxtRecord, signal: AbortSignal) => {
    const body = JSON.stringify({ type, name, value })
    const headers = { 'content-type': 'application/json', ...signedHeaders(secret, body, outside.now()) }
    const { status, text } = await callProvider(who, { method: 'POST', url, headers, body }, outside, signal)
    if (status < 200 || status > 299) throw providerFailed(who, `it answers ${status}: ${text}`)
  }
  return {
    addTxt: (record, signal) => tell('dns.present', record, signal),
    removeTxt: (record, signal) => tell('dns.cleanup', record, signal),
  }
}

function signedHeaders(secret: string, body: string, now: Date): Record<string, string> {
  const id = `msg_${randomUUID()}`
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
