import { recordRefused } from '../access/record-refused.ts'
import { networkOf, type Throttle } from '../access/throttle.ts'
import type { DeniedLog } from '../http/denied-log.ts'
import type { Callers, Credential, SshPrincipal } from './caller.ts'
import { type SshPeer, sshContext } from './context.ts'
import { fingerprintOf } from './host-key.ts'
import { isProof, type OfferedKey } from './key-proof.ts'
import type { Attempt } from './protocol/messages.ts'

/** Somebody who came in. */
export interface LoggedIn extends NonNullable<Awaited<ReturnType<Callers['projectFor']>>> {
  readonly principal: SshPrincipal
  readonly credential: Credential
  /** The user name as it was sent. */
  readonly name: string
}

export interface LogInDeps {
  readonly callers: Callers
  readonly denied: Pick<DeniedLog, 'record'>
  /** Of tokens that are tried as passwords. A key is proven, not guessed. */
  readonly throttle: Throttle
}

/** OpenSSH offers the keys of an agent one by one. */
const mostAttempts = 20

/** Of one connection: answers each attempt until one succeeds. */
export interface LogIn {
  /** Whether the client goes on, for a key without a proof, or is in. Never rejects. */
  attempt(attempt: Pick<Attempt, 'user' | 'by'>): Promise<boolean>
}

export interface LogInUses {
  readonly id: string
  peer(): SshPeer
  /** Aborts when the connection ends. */
  readonly signal: AbortSignal
  cameIn(who: LoggedIn): void
  /** It tried too often. */
  cut(): void
}

/**
 * A stranger learns nothing from the answers: what is refused is refused in one way, and a key is asked for its proof before the project is
 * looked at.
 */
export function createLogIn(
  { callers, denied, throttle }: LogInDeps,
  { id, peer, signal, cameIn, cut }: LogInUses,
): LogIn {
  let attempts = 0
  const note = async (principal: SshPrincipal | null, name: string) =>
    recordRefused(denied, sshContext(principal, peer(), id, signal), 'ssh.open', name.slice(0, 100))

  const enter = async (name: string, credential: Credential): Promise<boolean> => {
    const principal = await callers.principalOf(credential, true)
    const found = principal === null ? null : await callers.projectFor(principal, name)
    if (principal === null || found === null) {
      await note(principal, name)
      return false
    }
    if (signal.aborted) return false
    cameIn({ principal, credential, name, ...found })
    return true
  }

  const byKey = async (user: string, offered: OfferedKey): Promise<boolean> => {
    // A signature with SHA-1 proves nothing any more.
    if (offered.algorithm === 'ssh-rsa' && offered.hash === null) return false
    const known = await callers.keyOf(fingerprintOf(Buffer.from(offered.key, 'base64')))
    if (known === null) return false
    if (offered.proof === null) return true
    if (!isProof(offered, known.publicKey, user)) {
      await note(null, user)
      return false
    }
    return enter(user, { kind: 'key', id: known.id })
  }

  const byPassword = async (user: string, password: string): Promise<boolean> => {
    const key = `ssh ${user.slice(0, 200)} ${networkOf(peer().ip)}`
    await throttle.attempt(key, signal)
    const credential = { kind: 'token', value: password } as const
    if ((await callers.principalOf(credential, false)) !== null) throttle.succeed(key)
    return enter(user, credential)
  }

  return {
    attempt: async ({ user, by }) => {
      attempts += 1
      if (attempts > mostAttempts) {
        cut()
        return false
      }
      try {
        if (by.kind === 'key') return await byKey(user, by)
        return by.kind === 'password' && (await byPassword(user, by.password))
      } catch {
        // Also when the counter is closed, the client went, or the store cannot be read.
        return false
      }
    },
  }
}
