import { createHmac, randomBytes } from 'node:crypto'

/*
 * Standard Webhooks (standardwebhooks.com): `webhook-id`, `webhook-timestamp` in seconds and `webhook-signature`, which is
 * `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, once for each key, with spaces between.
 */

/** What is sealed for a webhook: the key in use, and for a while after a rotation the one before. */
export interface WebhookKeys {
  readonly current: string
  readonly previous: { readonly secret: string; readonly until: string } | null
}

export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

export function writeKeys(keys: WebhookKeys): string {
  return JSON.stringify(keys)
}

export function readKeys(text: string): WebhookKeys {
  return JSON.parse(text) as WebhookKeys
}

/** How long the key before goes on signing, so that receivers have time to take the new one. */
const bothSignMs = 24 * 60 * 60 * 1000

export function rotated(keys: WebhookKeys, now: Date): WebhookKeys {
  return {
    current: newWebhookSecret(),
    previous: { secret: keys.current, until: new Date(now.getTime() + bothSignMs).toISOString() },
  }
}

export function signedHeaders(keys: WebhookKeys, id: string, body: string, now: Date): Record<string, string> {
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const secrets = [
    keys.current,
    ...(keys.previous !== null && Date.parse(keys.previous.until) > now.getTime() ? [keys.previous.secret] : []),
  ]
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => sign(secret, `${id}.${timestamp}.${body}`)).join(' '),
  }
}

function sign(secret: string, text: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`
}
