/** Changes a code for the cookie that it stands for. Once: of two at the same moment one gets nothing. */
export type Redeem = (hash: string, host: string) => Promise<Entered | null>

export interface Entered {
  readonly cookie: string
  /** Where in the host to go on. */
  readonly path: string
  /** Of the pass, in milliseconds since 1970. */
  readonly expiresAt: number
}

/** What a code stands for. It is kept in the memory of the main process alone: after a restart people come with another. */
export interface Code extends Entered {
  /** SHA-256 of the code, in hexadecimal digits. */
  readonly hash: string
  readonly host: string
  /** Milliseconds since 1970. */
  readonly redeemBy: number
}

export interface Codes {
  add(code: Code): void
  readonly redeem: Redeem
}

/** Each lives for seconds, and is made by somebody who is signed in. */
const mostCodes = 10_000

export function createCodes(now: () => number = Date.now): Codes {
  const codes = new Map<string, Code>()
  return {
    add(code) {
      for (const [hash, { redeemBy }] of codes) if (redeemBy <= now() || codes.size >= mostCodes) codes.delete(hash)
      codes.set(code.hash, code)
    },
    redeem: async (hash, host) => {
      const code = codes.get(hash)
      codes.delete(hash)
      if (code === undefined || code.host !== host || code.redeemBy <= now()) return null
      const { cookie, path, expiresAt } = code
      return { cookie, path, expiresAt }
    },
  }
}

export class CodeError extends Error {
  override readonly name = 'CodeError'
}

/** Throws CodeError at the first mistake. */
export function parseCode(input: unknown): Code {
  const { hash, host, cookie, path, expiresAt, redeemBy } = (input ?? {}) as Readonly<Record<string, unknown>>
  const fits = (value: unknown, form: RegExp): value is string => typeof value === 'string' && form.test(value)
  if (!fits(hash, /^[0-9a-f]{64}$/)) throw new CodeError('"hash" must be 64 hexadecimal digits.')
  if (!fits(host, /^[a-z0-9.-]+$/)) throw new CodeError('"host" must be a host name in lower case.')
  if (!fits(cookie, /^[A-Za-z0-9_-]{43}$/)) throw new CodeError('"cookie" must be 256 bits in base64url.')
  // Never another host: `//` and `/\` begin one.
  if (!fits(path, /^\/(?![/\\])[\x21-\x7e]*$/)) throw new CodeError('"path" must be a path of its host.')
  if (!Number.isSafeInteger(expiresAt) || !Number.isSafeInteger(redeemBy))
    throw new CodeError('"expiresAt" and "redeemBy" must be milliseconds since 1970.')
  return { hash, host, cookie, path, expiresAt: expiresAt as number, redeemBy: redeemBy as number }
}
