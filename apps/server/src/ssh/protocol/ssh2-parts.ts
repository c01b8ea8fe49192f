import type { Connection } from 'ssh2'

/*
 * Two things that SSH has and `ssh2` does not offer to servers: telling why a forwarding was refused, and whether a client said good-bye.
 * Both stand on its inner parts, so each is left out where these are not as they were: then a refusal has no words, and an orderly end
 * counts as a lost connection.
 */

interface InnerParts {
  readonly _protocol?: {
    channelOpenFail?: (recipient: number, reason: number, text?: string) => void
    readonly _handlers?: { DISCONNECT?: (...args: readonly unknown[]) => void }
  }
}

/** OpenSSH’s number for what an administrator does not allow. */
const prohibited = 1

export interface Refusals {
  /** What the next refusal of a channel tells. */
  because(text: string): void
}

export function refusalsOf(connection: Connection): Refusals {
  const { _protocol: protocol } = connection as unknown as InnerParts
  const plain = protocol?.channelOpenFail
  let next: string | null = null
  if (protocol !== undefined && typeof plain === 'function') {
    protocol.channelOpenFail = (recipient, reason, text) => {
      const why = next
      next = null
      plain.call(protocol, recipient, why === null ? reason : prohibited, why ?? text)
    }
  }
  return {
    because: (text) => {
      next = text
    },
  }
}

/** Calls when the client ends the connection on purpose, before it is closed. */
export function onGoodbye(connection: Connection, tell: () => void): void {
  const handlers = (connection as unknown as InnerParts)._protocol?._handlers
  const plain = handlers?.DISCONNECT
  if (handlers === undefined || typeof plain !== 'function') return
  handlers.DISCONNECT = (...args) => {
    tell()
    plain(...args)
  }
}
