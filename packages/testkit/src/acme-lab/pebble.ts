import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePorts } from '../free-port.ts'
import { spawnTracked } from '../processes.ts'
import { waitFor } from '../wait-for.ts'

const execute = promisify(execFile)

export interface PebbleOptions {
  /** `address:port` of who answers for all names. */
  readonly dnsServer: string
  /** The ports that proofs are asked at instead of 80 and 443. */
  readonly httpPort: number
  readonly tlsPort: number
  /** Percent of good nonces that are refused. */
  readonly nonceReject?: number
  /** Key IDs and base64url HMAC keys; with any, accounts without one are refused. */
  readonly externalAccounts?: Readonly<Record<string, string>>
}

export interface AcmeServer extends AsyncDisposable {
  readonly directoryUrl: string
  readonly port: number
  /** PEM: what the API's own certificate is trusted by. */
  readonly roots: string
  /** Its certificate and key, to stand in front of it. */
  readonly tls: { readonly cert: string; readonly key: string }
  /** PEM: what the certificates it gives are trusted by. */
  issuingRoot(): Promise<string>
  output(): string
  end(): Promise<void>
}

/** A real Pebble, the test server of Let's Encrypt, on loopback. It validates for real. */
export async function servePebble(folder: string, options: PebbleOptions): Promise<AcmeServer> {
  await mkdir(folder, { recursive: true })
  const cert = join(folder, 'api.crt')
  const key = join(folder, 'api.key')
  await execute('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '3'],
    ...['-subj', '/CN=pebble', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', cert],
  ])
  const [port, managementPort] = (await freePorts(2)) as [number, number]
  const { httpPort, tlsPort, externalAccounts = {} } = options
  await writeFile(
    join(folder, 'pebble.json'),
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${managementPort}`,
        certificate: cert,
        privateKey: key,
        httpPort,
        tlsPort,
        ocspResponderURL: '',
        externalAccountBindingRequired: Object.keys(externalAccounts).length > 0,
        externalAccountMACKeys: externalAccounts,
      },
    }),
  )
  const pebble = spawnTracked(['pebble', '-config', join(folder, 'pebble.json'), '-dnsserver', options.dnsServer], {
    env: {
      PATH: process.env.PATH,
      PEBBLE_VA_NOSLEEP: '1',
      PEBBLE_VA_ALWAYS_VALID: '0',
      PEBBLE_AUTHZREUSE: '0',
      PEBBLE_WFE_NONCEREJECT: String(options.nonceReject ?? 5),
    },
  })
  const roots = await readFile(cert, 'utf8')
  await waitFor(`Pebble at ${port}`, () => get(port, '/dir', roots), { timeoutMs: 30_000 }).catch((error: unknown) => {
    throw new Error(`Pebble does not answer:\n${pebble.output()}`, { cause: error })
  })
  return {
    directoryUrl: `https://localhost:${port}/dir`,
    port,
    roots,
    tls: { cert: roots, key: await readFile(key, 'utf8') },
    issuingRoot: () => get(managementPort, '/roots/0', roots),
    output: () => pebble.output(),
    end: () => pebble.end(),
    [Symbol.asyncDispose]: () => pebble.end(),
  }
}

function get(port: number, path: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', servername: 'localhost', port, path, ca }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.once('end', () => resolve(text))
    })
      .once('error', reject)
      .end()
  })
}
