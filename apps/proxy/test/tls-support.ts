import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import {
  type ClientHttp2Session,
  type ClientSessionOptions,
  connect,
  type SecureClientSessionOptions,
} from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import type { ProxyCertificate, ProxyCertificates } from '../src/certificates.ts'
import { createProxyControl } from '../src/control.ts'
import type { Limits } from '../src/limits.ts'
import { startProxy } from '../src/proxy.ts'
import type { Route, Target } from '../src/route-table.ts'
import { route, table, tempHome } from './support.ts'

/** A certificate that signs itself. */
export function makeCertificate(
  names: readonly string[],
  { key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'] }: { readonly key?: readonly string[] } = {},
): { readonly certificate: string; readonly key: string } {
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-cert-'))
  try {
    const alternative = `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`
    const files = ['-keyout', join(folder, 'key'), '-out', join(folder, 'cert')]
    const subject = ['-days', '30', '-subj', `/CN=${names[0]}`, '-addext', alternative]
    execFileSync('openssl', ['req', '-x509', '-nodes', ...key, ...files, ...subject], { stdio: 'ignore' })
    return {
      certificate: readFileSync(join(folder, 'cert'), 'utf8'),
      key: readFileSync(join(folder, 'key'), 'utf8'),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export function certificateFor(names: readonly string[], more: Partial<ProxyCertificate> = {}): ProxyCertificate {
  return { id: names[0]!, names, ...makeCertificate(names), redirect: false, hstsSeconds: null, ...more }
}

export function given(certificates: readonly ProxyCertificate[], more: Partial<ProxyCertificates> = {}) {
  return { generation: 1, certificates, http01: [], tlsAlpn01: [], ...more }
}

export const shopCertificate = certificateFor(['shop.localhost'])

/** A proxy in this process with https, and `shop.localhost` that leads to the target. */
export async function secureProxy(
  t: TestContext,
  target: Target,
  {
    limits = {},
    certificates = [shopCertificate],
    routes = [],
  }: {
    readonly limits?: Partial<Limits>
    readonly certificates?: readonly ProxyCertificate[] | null
    readonly routes?: readonly Route[]
  } = {},
) {
  const home = await tempHome(t)
  const proxy = await startProxy({
    home,
    listen: '127.0.0.1:0',
    listenHttps: '127.0.0.1:0',
    limits: { drainWithin: 200, ...limits },
  })
  t.after(async () => {
    await proxy.shutdown()
    await proxy.done
  })
  const control = createProxyControl(home)
  await control.putRoutes(table([route('shop', target), ...routes]))
  if (certificates !== null) await control.setCertificates(given(certificates))
  return { plain: proxy.address.port, port: proxy.httpsAddress!.port, home, control, proxy }
}

/** Whoever the proxy shows a certificate of is believed: these sign themselves. */
const believing = { rejectUnauthorized: false } as const

export function secureSocket(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', servername: 'shop.localhost', ...believing, ...options }, () =>
      resolve(socket),
    )
    socket.once('error', reject)
  })
}

export function h2Session(
  t: TestContext,
  port: number,
  options: ClientSessionOptions & SecureClientSessionOptions = {},
): ClientHttp2Session {
  const session = connect(`https://127.0.0.1:${port}`, { servername: 'shop.localhost', ...believing, ...options })
  session.on('error', () => {})
  t.after(() => session.destroy())
  return session
}

export interface H2Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly trailers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** Rejects with the error of the stream when it is reset. */
export function h2Ask(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>> = {},
  body?: string | Buffer,
): Promise<H2Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': '/', ':authority': 'shop.localhost', ...headers })
    let head: H2Answer['headers'] = {}
    let trailers: H2Answer['trailers'] = {}
    const chunks: Buffer[] = []
    stream.on('response', (fields) => {
      head = fields
    })
    stream.on('trailers', (fields) => {
      trailers = fields
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', reject)
    stream.on('close', () =>
      resolve({ status: Number(head[':status']), headers: head, trailers, text: Buffer.concat(chunks).toString() }),
    )
    stream.end(body)
  })
}
