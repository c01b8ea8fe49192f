import { createHmac, randomBytes } from '../node-crypto.ts'

/**
 * argon2id costs 19 MiB and some 20 ms on purpose. What was right is remembered for a while under a keyed hash, so that a
 * page with a hundred pictures asks once; what was wrong never is. At most two are computed at once.
 */
export interface PasswordVerifier {
  /** True at once when it is remembered. */
  known(hash: string, text: string): boolean
  verify(hash: string, text: string): Promise<boolean>
}

const rememberMs = 5 * 60_000
const mostRemembered = 1_000
const mostAtOnce = 2
/** Longer ones are not looked at: hashing them would be work for nothing. */
const longestText = 1_000

export function createPasswordVerifier(now: () => number = Date.now): PasswordVerifier {
  const key = randomBytes(32)
  const remembered = new Map<string, number>()
  const waiting: (() => void)[] = []
  let running = 0
  const markOf = (hash: string, text: string) => createHmac('sha256', key).update(`${hash}\0${text}`).digest('base64')

  return {
    known(hash, text) {
      const until = remembered.get(markOf(hash, text))
      return until !== undefined && until > now()
    },
    async verify(hash, text) {
      if (text.length > longestText) return false
      while (running >= mostAtOnce) await new Promise<void>((resolve) => waiting.push(resolve))
      running += 1
      try {
        // Loaded with the first password: most proxies never need it.
        const { verify } = await import('@node-rs/argon2')
        const isRight = await verify(hash, text).catch(() => false)
        if (isRight) {
          const mark = markOf(hash, text)
          remembered.delete(mark)
          remembered.set(mark, now() + rememberMs)
          if (remembered.size > mostRemembered) remembered.delete(remembered.keys().next().value!)
        }
        return isRight
      } finally {
        running -= 1
        waiting.shift()?.()
      }
    },
  }
}

/** One for the whole process: tables change, passwords mostly stay. */
export const passwords: PasswordVerifier = createPasswordVerifier()
