import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export const challengeMs = 5 * 60_000

/**
 * What an authenticator signs. The service keeps nothing of one that is open, so strangers who ask for them without end
 * push out nobody's: each carries its end and a checksum over what it was made for. One that was answered rightly is
 * remembered until its end. A restart forgets the key, and with it all that are open.
 */
export interface SignedChallenges {
  make(about: readonly string[]): Uint8Array<ArrayBuffer>
  holds(challenge: string, about: readonly string[]): boolean
  /** False when it was used before. */
  use(challenge: string): boolean
}

export function createSignedChallenges(now: () => number): SignedChallenges {
  const key = randomBytes(32)
  const used = new Map<string, number>()
  const sign = (head: Uint8Array, about: readonly string[]) =>
    createHmac('sha256', key).update(head).update(JSON.stringify(about)).digest().subarray(0, 16)
  return {
    make(about) {
      const head = Buffer.alloc(headBytes)
      randomBytes(16).copy(head)
      head.writeUIntBE(now() + challengeMs, 16, 6)
      return new Uint8Array(Buffer.concat([head, sign(head, about)]))
    },
    holds(challenge, about) {
      const bytes = Buffer.from(challenge, 'base64url')
      if (bytes.length !== headBytes + 16 || bytes.toString('base64url') !== challenge) return false
      const head = bytes.subarray(0, headBytes)
      return timingSafeEqual(sign(head, about), bytes.subarray(headBytes)) && head.readUIntBE(16, 6) > now()
    },
    use(challenge) {
      const time = now()
      for (const [one, end] of used) if (end <= time) used.delete(one)
      if (used.has(challenge)) return false
      used.set(challenge, time + challengeMs)
      return true
    },
  }
}

const headBytes = 22
