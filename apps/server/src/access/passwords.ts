import { hash, verify } from '@node-rs/argon2'
import { ProblemError } from '@stackquay/contract'

/** argon2id with the library's defaults, which are those of OWASP: 19 MiB, 2 passes. */
export function hashPassword(password: string): Promise<string> {
  return gate.through(() => hash(password))
}

/** Takes the same time without a user as with one, so that names cannot be found out by it. */
export async function passwordHolds(password: string, stored: string | null): Promise<boolean> {
  const holds = await gate.through(() => verify(stored ?? nobodys, password))
  return holds && stored !== null
}

/** The hash of 32 random bytes that nobody kept. */
const nobodys = '$argon2id$v=19$m=19456,t=2,p=1$Ry008y4bLxljVFxGPCgVFA$pIY3ZYD+6fYzfq11YOtN6N6b6/bXxRl91dxSY7DuD9I'

/**
 * Each computation takes 19 MiB and a core for some ten milliseconds. Two at a time keep the machine answering while
 * somebody tries passwords from many addresses.
 */
const gate = gateOf(2)

/** Some seconds of work; whoever comes later would give up waiting anyhow. */
const longestQueue = 100

function gateOf(places: number) {
  const waiting: (() => void)[] = []
  let free = places
  return {
    async through<T>(work: () => Promise<T>): Promise<T> {
      if (waiting.length >= longestQueue) {
        throw new ProblemError('unavailable', 'Too many people log in at once.', { headers: { 'retry-after': '5' } })
      }
      if (free > 0) free--
      else await new Promise<void>((go) => waiting.push(go))
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else free++
      }
    },
  }
}
