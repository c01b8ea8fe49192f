import { randomBytes } from 'node:crypto'
import { sessionAgeMs } from '@stackquay/store'

export const sessionCookie = 'stackquay_session'

/** The longest a session lasts, used or not; the store ends it earlier after 12 idle hours. */
export const sessionSeconds = sessionAgeMs / 1000

/** 256 random bits; the store keeps its SHA-256. */
export function newSessionSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** The door adds `Secure` when the request came over TLS. */
export function cookieLine(secret: string): string {
  return `${sessionCookie}=${secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${sessionSeconds}`
}

export const clearingCookieLine = `${sessionCookie}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0`

/** The session's secret in a Cookie header; null when there is none. The first one counts, as browsers send the closest path first. */
export function sessionSecretIn(header: string | undefined): string | null {
  if (header === undefined) return null
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (equals !== -1 && pair.slice(0, equals).trim() === sessionCookie) return pair.slice(equals + 1).trim()
  }
  return null
}
