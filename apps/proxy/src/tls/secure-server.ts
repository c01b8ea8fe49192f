import type { Socket } from 'node:net'
import type { SecureContext, TLSSocket, TlsOptions } from 'node:tls'
import type { Limits } from '../limits.ts'
import { tls12Ciphers, tls13Ciphers } from './ciphers.ts'

const tls = process.getBuiltinModule('node:tls')
const { constants } = process.getBuiltinModule('node:crypto')

const groups = ['X25519MLKEM768', 'X25519', 'prime256v1', 'secp384r1']

export interface Pair {
  readonly certificate: string
  readonly key: string
}

/** One context for each certificate, made once; those of certificates that are gone go. */
export class SecureContexts {
  #made = new Map<string, SecureContext>()

  /** Others are served in between: each takes a quarter of a millisecond, and there may be a thousand. */
  async of(pairs: readonly Pair[]): Promise<ReadonlyMap<Pair, SecureContext>> {
    const made = new Map<string, SecureContext>()
    const all = new Map<Pair, SecureContext>()
    for (const [index, pair] of pairs.entries()) {
      const key = `${pair.certificate}\0${pair.key}`
      const context = made.get(key) ?? this.#made.get(key) ?? tls.createSecureContext(contextOptions(pair))
      made.set(key, context)
      all.set(pair, context)
      if (index % 16 === 15) await new Promise((resolve) => setImmediate(resolve))
    }
    this.#made = made
    return all
  }
}

function contextOptions({ certificate, key }: Pair) {
  return { cert: certificate, key, ...versions }
}

const versions = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3' } as const

export interface TlsServers {
  accept(socket: Socket, isChallenge: boolean): void
  /** Shared by all processes, so that a client that comes back to another one goes on all the same. */
  useTicketKeys(keys: Buffer): void
}

/** Two of them: those who validate names by `acme-tls/1` are shown other certificates, and get no page. */
export function createTlsServers(
  limits: Limits,
  {
    contextOf,
    challengeOf,
    onSecure,
  }: {
    contextOf(name: string): SecureContext | undefined
    challengeOf(name: string): SecureContext | undefined
    onSecure(socket: TLSSocket): void
  },
): TlsServers {
  const common: TlsOptions = {
    ...versions,
    ciphers: [...tls13Ciphers, ...tls12Ciphers].join(':'),
    ecdhCurve: groups.join(':'),
    // The client knows what it does fast.
    honorCipherOrder: false,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    handshakeTimeout: limits.handshakeWithin,
    // By default it is made of the command line, and workers have another one than the main process.
    sessionIdContext: 'stackquay',
    noDelay: true,
  }
  // Without a name, or with one that no certificate is for, no certificate is shown and the handshake fails.
  const select =
    (find: (name: string) => SecureContext | undefined): NonNullable<TlsOptions['SNICallback']> =>
    (name, answer) =>
      answer(null, find(name.toLowerCase()))
  const pages = tls.createServer(
    { ...common, ALPNProtocols: ['h2', 'http/1.1'], SNICallback: select(contextOf) },
    onSecure,
  )
  const challenges = tls.createServer(
    { ...common, ALPNProtocols: ['acme-tls/1'], SNICallback: select(challengeOf) },
    // The handshake was all that was asked for.
    (socket) => socket.end(),
  )
  for (const server of [pages, challenges]) server.on('tlsClientError', (_error, socket) => socket.destroy())
  return {
    accept: (socket, isChallenge) => void (isChallenge ? challenges : pages).emit('connection', socket),
    useTicketKeys: (keys) => pages.setTicketKeys(keys),
  }
}
