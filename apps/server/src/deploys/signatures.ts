import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Forge } from '@stackquay/contract'

export type SignatureCheck =
  /** `signed`: the signature is over the body, so the same body is the same delivery. */
  { readonly ok: true; readonly signed: boolean } | { readonly ok: false; readonly reason: string }

/** How old a delivery may be whose signature says when it was made (Standard Webhooks: five minutes). */
const mostAgeSeconds = 300

/** Whether the forge that a delivery names signed it with the secret. Says which header is missing or wrong, never what would be right. */
export function checkSignature(
  forge: Forge,
  header: (name: string) => string | null,
  body: Buffer,
  secret: string,
  now: Date,
): SignatureCheck {
  switch (forge) {
    case 'github':
      return hexOf('X-Hub-Signature-256', header('x-hub-signature-256')?.replace(/^sha256=/, '') ?? null, body, secret)
    case 'gitea':
      return hexOf('X-Gitea-Signature', header('x-gitea-signature'), body, secret)
    case 'forgejo':
      return hexOf('X-Forgejo-Signature', header('x-forgejo-signature'), body, secret)
    case 'gitlab':
      return header('webhook-signature') === null
        ? tokenOf(header('x-gitlab-token'), secret)
        : standardOf(header, body, secret, now)
    default:
      return forge satisfies never
  }
}

function hexOf(name: string, sent: string | null, body: Buffer, secret: string): SignatureCheck {
  if (sent === null) return wrong(`There is no header ${name}: give the forge the secret.`)
  const isRight = /^[0-9a-f]{64}$/i.test(sent) && same(hmac(secret, body), Buffer.from(sent, 'hex'))
  return isRight ? { ok: true, signed: true } : wrong(`${name} is not made with the secret of this webhook.`)
}

function tokenOf(sent: string | null, secret: string): SignatureCheck {
  if (sent === null) return wrong('There is no header X-Gitlab-Token or webhook-signature: give the forge the secret.')
  // Digests have one length, so not even that of the secret is told by the time it takes.
  const isRight = same(hmac(tokenKey, Buffer.from(sent)), hmac(tokenKey, Buffer.from(secret)))
  return isRight ? { ok: true, signed: false } : wrong('X-Gitlab-Token is not the secret of this webhook.')
}

const tokenKey = 'x-gitlab-token'

function standardOf(header: (name: string) => string | null, body: Buffer, secret: string, now: Date): SignatureCheck {
  const [id, timestamp] = [header('webhook-id'), header('webhook-timestamp')]
  if (id === null || timestamp === null || !/^\d{1,12}$/.test(timestamp))
    return wrong('There is a webhook-signature without webhook-id or webhook-timestamp.')
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const right = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
  const sent = (header('webhook-signature') ?? '').split(' ').filter((one) => one.startsWith('v1,'))
  if (!sent.some((one) => same(right, Buffer.from(one.slice(3), 'base64'))))
    return wrong('webhook-signature is not made with the secret of this webhook.')
  if (Math.abs(now.getTime() / 1000 - Number(timestamp)) > mostAgeSeconds)
    return wrong('It was signed more than five minutes ago, or the clocks differ.')
  return { ok: true, signed: true }
}

const wrong = (reason: string): SignatureCheck => ({ ok: false, reason })

const hmac = (key: string, text: Buffer) => createHmac('sha256', key).update(text).digest()

function same(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
