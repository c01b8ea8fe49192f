import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { secureCookiePrefix } from '../http/secure-cookie.ts'
import type { Round } from './provider.ts'

/** What a browser carries through the provider. Sealed: cookies know no port, so programs of projects on this host see them. */
export interface KeptRound extends Round {
  /** S256 of what the page keeps. */
  readonly challenge: string
  readonly issuer: string
  readonly until: number
}

export interface RoundCookies {
  line(round: KeptRound): string
  /** Null for one that is not there, not ours, or too old. */
  read(header: string | null, state: string, now: number): KeptRound | null
  clearing(state: string): string
}

export const roundMs = 10 * 60_000

/**
 * Nothing is kept here for rounds that are under way, so nobody fills a memory by beginning them. The key lives as long as the process: a
 * round that a restart falls into begins again. Lax: the browser comes back from another site.
 */
export function createRoundCookies(instance: string): RoundCookies {
  const key = randomBytes(32)
  const nameOf = (state: string) => `stackquay_oidc_${instance}_${state.replace(/[^A-Za-z0-9_-]/g, '').slice(0, 8)}`
  return {
    line: (round) => {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, iv)
      const text = Buffer.concat([cipher.update(JSON.stringify(round), 'utf8'), cipher.final()])
      const value = Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')
      return `${nameOf(round.state)}=${value}; ${attributes}; Max-Age=${roundMs / 1000}`
    },
    read: (header, state, now) => {
      const name = nameOf(state)
      for (const part of header?.split(';') ?? []) {
        const [found, value = ''] = part.trim().split('=', 2)
        if (found !== name && found !== secureCookiePrefix + name) continue
        const round = open(value, key)
        if (round !== null && round.state === state && now < round.until) return round
      }
      return null
    },
    clearing: (state) => `${nameOf(state)}=; ${attributes}; Max-Age=0`,
  }
}

const attributes = 'Path=/; HttpOnly; SameSite=Lax'

function open(value: string, key: Buffer): KeptRound | null {
  try {
    const bytes = Buffer.from(value, 'base64url')
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
    decipher.setAuthTag(bytes.subarray(12, 28))
    return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8'))
  } catch {
    return null
  }
}
