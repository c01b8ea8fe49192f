import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSecureContext, createServer as createTlsServer, type SecureContext } from 'node:tls'
import type { AcmeServer, DnsServer } from '@stackquay/testkit/acme-lab'
import {
  dns01,
  dnsProviderOf,
  http01,
  newKey,
  type ObtainOptions,
  type OpenOrder,
  type Solver,
  tlsAlpn01,
} from '../src/index.ts'

export interface Listener extends AsyncDisposable {
  readonly port: number
}

/** What stands at "port 80": answers proofs as they were published, and nothing else. */
export interface ProofListener extends Listener {
  /** By host and path. */
  readonly answers: Map<string, string>
}

export async function listenForHttp01(): Promise<ProofListener> {
  const answers = new Map<string, string>()
  const server = createServer((asked, response) => {
    const answer = answers.get(`${asked.headers.host?.replace(/:\d+$/, '')}${asked.url}`)
    response.writeHead(answer === undefined ? 404 : 200).end(answer ?? 'nothing here')
  })
  return { answers, ...(await listening(server)) }
}

export function http01Over({ answers }: ProofListener, dns: DnsServer): Solver {
  const key = (name: string, token: string) => `${name}/.well-known/acme-challenge/${token}`
  return http01(
    {
      publish: async (name, token, answer) => void answers.set(key(name, token), answer),
      withdraw: async (name, token) => void answers.delete(key(name, token)),
    },
    viewOf(dns),
  )
}

/** What stands at "port 443". */
export interface TlsProofListener extends Listener {
  readonly contexts: Map<string, SecureContext>
}

export async function listenForTlsAlpn01(): Promise<TlsProofListener> {
  const contexts = new Map<string, SecureContext>()
  const server = createTlsServer({
    ALPNProtocols: ['acme-tls/1'],
    SNICallback: (name, done) => done(null, contexts.get(name)),
  })
  server.on('tlsClientError', () => {})
  server.on('secureConnection', (socket) => socket.on('error', () => {}).end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    contexts,
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

export function tlsAlpn01Over({ contexts }: TlsProofListener, dns: DnsServer): Solver {
  return tlsAlpn01(
    {
      publish: async (name, cert, key) => void contexts.set(name, createSecureContext({ cert, key })),
      withdraw: async (name) => void contexts.delete(name),
    },
    viewOf(dns),
    () => new Date(),
  )
}

export function viewOf({ address, port }: Pick<DnsServer, 'address' | 'port'>) {
  return { servers: [address], authoritativePort: port }
}

export function dns01Over(
  dns: Pick<DnsServer, 'address' | 'port' | 'key'> & { readonly authoritativePort?: number },
  visibleWithinMs = 10_000,
): Solver {
  const settings = {
    server: '127.0.0.1',
    port: dns.port,
    keyName: dns.key.name,
    algorithm: dns.key.algorithm,
    secret: dns.key.secret,
  }
  const provider = dnsProviderOf('rfc2136')!.open(settings, { now: () => new Date() })
  return dns01(
    provider,
    { ...viewOf(dns), authoritativePort: dns.authoritativePort ?? dns.port },
    { visibleWithinMs, pauseMs: 100 },
  )
}

/** What a caller keeps, in memory. */
export class Memory {
  order: OpenOrder | null = null
  accountUrl: string | null = null
  readonly accountKey = newKey()
}

export function optionsFor(
  server: Pick<AcmeServer, 'directoryUrl' | 'roots'>,
  names: readonly string[],
  solver: Solver,
  memory: Memory,
): ObtainOptions {
  return {
    directoryUrl: server.directoryUrl,
    roots: server.roots,
    account: { key: memory.accountKey, url: memory.accountUrl, email: 'admin@example.org', termsAgreed: true },
    names,
    solver,
    order: memory.order,
    remember: async (order) => {
      memory.order = order
    },
    rememberAccount: async (url) => {
      memory.accountUrl = url
    },
    now: () => new Date(),
    signal: AbortSignal.timeout(60_000),
    mostWaitMs: 30_000,
  }
}

export interface Front extends Listener {
  readonly directoryUrl: string
}

/** Stands before the server; `answer` takes a request over by answering true. */
export async function front(
  server: AcmeServer,
  answer: (path: string, respond: (status: number, headers: Record<string, string>, body: string) => void) => boolean,
): Promise<Front> {
  const { createServer: createHttpsServer } = await import('node:https')
  const listener = createHttpsServer(server.tls, (asked, response) => {
    const respond = (status: number, headers: Record<string, string>, body: string) => {
      response.writeHead(status, headers).end(body)
    }
    if (answer(asked.url ?? '', respond)) return void asked.resume()
    const onward = request(
      {
        host: '127.0.0.1',
        servername: 'localhost',
        port: server.port,
        path: asked.url,
        method: asked.method,
        headers: asked.headers,
        ca: server.roots,
      },
      (found) => {
        response.writeHead(found.statusCode ?? 502, found.headers)
        found.pipe(response)
      },
    )
    asked.pipe(onward)
  })
  const { port, ...rest } = await listening(listener)
  return { port, directoryUrl: `https://localhost:${port}/dir`, ...rest }
}

export async function listening(server: Server | import('node:https').Server): Promise<Listener> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
