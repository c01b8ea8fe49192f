import { isIP } from 'node:net'
import { EngineError } from '@stackquay/engine-api'
import type Dockerode from 'dockerode'
import { clientWhenUsed } from './load-client.ts'
import { type DockerTls, readTlsFiles } from './tls.ts'

export interface Connection {
  readonly docker: Dockerode
  readonly isLocal: boolean
  /** Where published ports are reached. */
  readonly host: string
  /** Whether the connection is open to attackers on the network path. */
  readonly isExposed: boolean
}

export const DEFAULT_SOCKET = '/var/run/docker.sock'
/** Docker 20.10. */
export const OLDEST_API = '1.41'

/** As registered for Docker, without TLS and with it. */
const PLAIN_PORT = 2375
const TLS_PORT = 2376

/**
 * Connects as `DOCKER_HOST` says; null is the usual socket. Nothing is asked yet. Calls name no version of the API, which
 * Docker takes for its newest; `probe` refuses one that is too old.
 */
export function connectDocker(host: string | null, tls: DockerTls = { mode: 'unset', folder: '' }): Connection {
  if (host === null || host === '') return connectSocket(DEFAULT_SOCKET)
  if (host.startsWith('unix://')) return connectSocket(host.slice('unix://'.length))
  if (/^(tcp|http|https):\/\//.test(host)) return connectPort(host, tls)
  if (host.startsWith('ssh://')) {
    throw refused(
      'Docker is not reached over ssh:// here, because the client would trust any host key.',
      'Forward its socket with ssh -L, and name that with unix://.',
    )
  }
  throw refused(`Docker's address ${JSON.stringify(host)} is not understood.`, 'Use unix:///path or tcp://host:port.')
}

function connectSocket(socketPath: string): Connection {
  // On other systems the socket leads into a virtual machine.
  const isLocal = process.platform === 'linux'
  return { docker: clientWhenUsed({ socketPath }), isLocal, host: '127.0.0.1', isExposed: false }
}

function connectPort(address: string, tls: DockerTls): Connection {
  const { hostname: name, port } = parseAddress(address)
  const host = name.replace(/^\[(.*)\]$/, '$1')
  if (tls.mode === 'verify' || address.startsWith('https:')) {
    const files = readTlsFiles(tls.folder)
    const docker = clientWhenUsed({ protocol: 'https', host, port: port === '' ? TLS_PORT : Number(port), ...files })
    return { docker, isLocal: false, host, isExposed: false }
  }
  const isExposed = !isLoopback(host)
  if (isExposed && tls.mode === 'unset') {
    throw refused(
      `Docker at ${address} would be asked without encryption: any attacker on the network path could become root on that machine.`,
      'Set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH, or forward its socket with ssh -L. Where the way is safe, say so with DOCKER_TLS_VERIFY=0.',
    )
  }
  const docker = clientWhenUsed({ protocol: 'http', host, port: port === '' ? PLAIN_PORT : Number(port) })
  return { docker, isLocal: false, host, isExposed }
}

function parseAddress(address: string): URL {
  // The ports that are usual for these two would not be reported.
  const url = address.replace(/^[a-z]+:/, 'docker:')
  if (URL.canParse(url)) return new URL(url)
  throw refused(`Docker's address ${JSON.stringify(address)} is not understood.`, 'Use tcp://host:port.')
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

function refused(message: string, hint: string): EngineError {
  return new EngineError('engine_unavailable', message, { hint })
}
