import type { AuthContext, Connection, PublicKeyAuthContext } from 'ssh2'
import { recordRefused } from '../access/record-refused.ts'
import { networkOf, type Throttle } from '../access/throttle.ts'
import type { DeniedLog } from '../http/denied-log.ts'
import type { Callers, Credential, SshPrincipal } from './caller.ts'
import { type SshPeer, sshContext } from './context.ts'
import { fingerprintOf } from './host-key.ts'

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
const methods = ['publickey', 'password'] as const

/**
 * Answers each attempt of one connection until one succeeds. A stranger learns nothing from the answers: what is refused is refused in one
 * way, and a key is asked for its proof before the project is looked at.
 */
export function logIn(
  connection: Connection,
  peer: SshPeer,
  connectionId: string,
  signal: AbortSignal,
  { callers, denied, throttle }: LogInDeps,
  cameIn: (who: LoggedIn) => void,
): void {
  let attempts = 0
  const refuse = (attempt: AuthContext) => attempt.reject([...methods])
  const note = async (principal: SshPrincipal | null, name: string) =>
    recordRefused(denied, sshContext(principal, peer, connectionId, signal), 'ssh.open', name.slice(0, 100))

  const enter = async (attempt: AuthContext, credential: Credential): Promise<void> => {
    const principal = await callers.principalOf(credential, true)
    const found = principal === null ? null : await callers.projectFor(principal, attempt.username)
    if (principal === null || found === null) {
      await note(principal, attempt.username)
      return refuse(attempt)
    }
    if (signal.aborted) return refuse(attempt)
    cameIn({ principal, credential, name: attempt.username, ...found })
    attempt.accept()
  }

  const byKey = async (attempt: PublicKeyAuthContext): Promise<void> => {
    // A signature with SHA-1 proves nothing any more.
    if (attempt.key.algo === 'ssh-rsa' && hashOf(attempt) === undefined) return refuse(attempt)
    const known = await callers.keyOf(fingerprintOf(attempt.key.data))
    if (known === null) return refuse(attempt)
    if (attempt.signature === undefined) return attempt.accept()
    if (!(await isProof(attempt, known.publicKey))) {
      await note(null, attempt.username)
      return refuse(attempt)
    }
    return enter(attempt, { kind: 'key', id: known.id })
  }

  const byPassword = async (attempt: AuthContext & { readonly password: string }): Promise<void> => {
    const key = `ssh ${attempt.username.slice(0, 200)} ${networkOf(peer.ip)}`
    await throttle.attempt(key, signal)
    const credential = { kind: 'token', value: attempt.password } as const
    if ((await callers.principalOf(credential, false)) !== null) throttle.succeed(key)
    return enter(attempt, credential)
  }

  connection.on('authentication', (attempt) => {
    const work = async () => {
      if (attempt.method === 'none') return refuse(attempt)
      attempts += 1
      if (attempts > mostAttempts) return void connection.end()
      if (attempt.method === 'publickey') return byKey(attempt)
      if (attempt.method === 'password') return byPassword(attempt)
      return refuse(attempt)
    }
    // Also when the counter is closed, the client went, or the store cannot be read.
    work().catch(() => refuse(attempt))
  })
}

/** Of RSA the hash that the client names; the types do not know of it. */
function hashOf(attempt: PublicKeyAuthContext): string | undefined {
  return (attempt as { readonly hashAlgo?: string }).hashAlgo
}

async function isProof(attempt: PublicKeyAuthContext, publicKey: string): Promise<boolean> {
  const { key, blob, signature } = attempt
  const { default: ssh2 } = await import('ssh2')
  const parsed = ssh2.utils.parseKey(publicKey)
  if (parsed instanceof Error || blob === undefined || signature === undefined) return false
  if (!parsed.getPublicSSH().equals(key.data)) return false
  return parsed.verify(blob, signature, hashOf(attempt)) === true
}
