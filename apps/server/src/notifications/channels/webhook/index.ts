import { z } from 'zod'
import { signedHeaders } from '../../../webhooks/signature.ts'
import { channelKind, hostOf, secretAddress, secretText } from '../../channel-kind.ts'

/** JSON to an address, signed as Standard Webhooks says when there is a key. */
export const webhook = channelKind({
  name: 'webhook',
  label: 'Webhook',
  settings: z.strictObject({
    url: secretAddress('Where messages are posted to as JSON.'),
    secret: secretText('Key of the signatures: whsec_ and 24 to 64 bytes in base64. None: not signed.')
      .refine(isKey, 'must be whsec_ and 24 to 64 bytes in base64')
      .nullable()
      .default(null)
      .meta({ writeOnly: true }),
  }),
  destinations: [],
  address: ({ url }) => hostOf(url),
  send: (message, { url, secret }, outside) => {
    const { id, event, project, title, text, link, at } = message
    const body = { type: 'notification', timestamp: at, data: { event, project, title, text, link } }
    const headers =
      secret === null
        ? { 'webhook-id': id, 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) }
        : signedHeaders({ current: secret, previous: null }, id, JSON.stringify(body), new Date())
    return outside.post(url, body, headers)
  },
})

function isKey(text: string): boolean {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  const bytes = base64 === undefined ? 0 : Buffer.from(base64, 'base64').length
  return bytes >= 24 && bytes <= 64
}
