import { randomBytes } from 'node:crypto'
import { sessionAgeMs } from '@stackquay/store'
import { secureCookiePrefix } from '../http/secure-cookie.ts'

/** The longest a session lasts, used or not; the store ends it earlier when it is idle. */
const usualSeconds = () => sessionAgeMs / 1000

/** 256 random bits, for either half of a session and for a ticket; the store keeps the SHA-256. */
export function newSessionSecret(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * The cookie of this instance. Cookies know no port, so two instances on one host would overwrite each other's without a
 * name of their own. Over TLS the name begins with `__Host-`, which no program on another host or over plain HTTP can set.
 */
export interface SessionCookie {
  /** How long a session that begins now may last. */
  seconds(): number
  /** Without the attributes of TLS; `secureCookieLine` adds them. */
  line(secret: string): string
  readonly clearing: string
  /**
   * The secrets of all cookies of this name, at most eight. A project on this host can add cookies of our name with longer
   * paths, for ever. Browsers send longer paths first (RFC 6265, section 5.4), and ours has the shortest: the last ones count.
   */
  secretsIn(header: string | undefined, secure: boolean): readonly string[]
}

export function createSessionCookie(instance: string, seconds: () => number = usualSeconds): SessionCookie {
  const name = `stackquay_session_${instance}`
  return {
    seconds,
    line: (secret) => `${name}=${secret}; ${attributes}; Max-Age=${seconds()}`,
    clearing: `${name}=; ${attributes}; Max-Age=0`,
    secretsIn(header, secure) {
      if (header === undefined) return []
      const wanted = secure ? secureCookiePrefix + name : name
      const found: string[] = []
      for (const pair of header.split(';')) {
        const equals = pair.indexOf('=')
        if (equals !== -1 && pair.slice(0, equals).trim() === wanted) found.push(pair.slice(equals + 1).trim())
      }
      return found.slice(-mostCookies)
    },
  }
}

const attributes = 'Path=/; HttpOnly; SameSite=Strict'
const mostCookies = 8
