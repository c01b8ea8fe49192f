import { randomBytes } from 'node:crypto'
import type { UserRow } from '@stackquay/store'
import type { AllowedAttempt } from '../login-guard.ts'
import { hashOf } from '../token-value.ts'
import { challengeMs } from './signed-challenges.ts'

/** Between a right password and the second factor. No session, and nothing that a browser keeps. */
export interface LoginChallenge {
  readonly user: string
  /** As it was: a new password ends the challenge. */
  readonly passwordHash: string | null
  readonly attempt: AllowedAttempt
  readonly expiresAt: number
  readonly tries: number
}

export interface LoginChallenges {
  begin(user: UserRow, attempt: AllowedAttempt): { readonly challenge: string; readonly expiresAt: number }
  /** Counts a try. Null for one that is over, was used, or was tried too often. */
  attempt(challenge: string): LoginChallenge | null
  /** True for the first who says so. */
  finish(challenge: string): boolean
}

/** In memory: who was between the steps at a restart begins again. */
export function createLoginChallenges(now: () => number): LoginChallenges {
  const open = new Map<string, LoginChallenge>()
  return {
    begin({ id, passwordHash }, attempt) {
      const challenge = randomBytes(32).toString('base64url')
      const expiresAt = now() + challengeMs
      makeRoom(id)
      open.set(hashOf(challenge), { user: id, passwordHash, attempt, expiresAt, tries: 0 })
      return { challenge, expiresAt }
    },
    attempt(challenge) {
      const id = hashOf(challenge)
      const found = open.get(id)
      if (found === undefined) return null
      const tried = { ...found, tries: found.tries + 1 }
      if (tried.tries > mostTries || found.expiresAt <= now()) {
        open.delete(id)
        return null
      }
      open.set(id, tried)
      return tried
    },
    finish: (challenge) => open.delete(hashOf(challenge)),
  }

  /** Each took a right password, so these bounds are for people who know one and mean harm. */
  function makeRoom(user: string): void {
    const time = now()
    for (const [id, { expiresAt }] of open) if (expiresAt <= time) open.delete(id)
    const own = [...open].filter(([, one]) => one.user === user)
    for (const [id] of own.slice(0, Math.max(0, own.length - mostOfOne + 1))) open.delete(id)
    for (const id of open.keys()) {
      if (open.size < mostOpen) return
      open.delete(id)
    }
  }
}

const mostTries = 10
const mostOfOne = 20
const mostOpen = 2_000
