import { randomBytes } from 'node:crypto'
import type { RequestContext } from '../http/handler.ts'
import { actorOf } from '../http/request-context.ts'
import type { SshPrincipal } from './caller.ts'

/** Who connected, whence and with what. */
export interface SshPeer {
  readonly ip: string
  /** As the client names itself: `OpenSSH_9.2p1`. */
  readonly software: string
}

export function newConnectionId(): string {
  return `ssh_${randomBytes(9).toString('base64url')}`
}

/** What is done over a connection is done and audited like what is asked by a request. */
export function sshContext(
  principal: SshPrincipal | null,
  peer: SshPeer,
  requestId: string,
  signal: AbortSignal,
): RequestContext {
  const known = principal ?? ({ kind: 'anonymous' } as const)
  const about = {
    actor: actorOf(known),
    requestId,
    source: 'ssh',
    ip: peer.ip,
    userAgent: peer.software.slice(0, 300),
  } as const
  return {
    ...about,
    principal: known,
    signal,
    ifMatch: null,
    contentLength: null,
    header: () => null,
    audit: (entry) => ({
      target: null,
      project: null,
      outcome: 'success',
      changes: null,
      operationId: null,
      ...entry,
      ...about,
    }),
  }
}
