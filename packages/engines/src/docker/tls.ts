import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { EngineError } from '@stackquay/engine-api'

/** How a Docker behind a port is spoken to, as Docker's own client has it from its environment. */
export interface DockerTls {
  /** `unset`: no setting says whether the connection is safe. */
  readonly mode: 'verify' | 'plain' | 'unset'
  /** With `ca.pem`, `cert.pem`, `key.pem`. */
  readonly folder: string
}

/**
 * DOCKER_TLS_VERIFY and DOCKER_CERT_PATH. Docker's client takes every text but the empty one for a yes; here "0" is a no as well,
 * because that is what it means.
 */
export function dockerTls(env: NodeJS.ProcessEnv): DockerTls {
  const { DOCKER_TLS_VERIFY: verify, DOCKER_CERT_PATH: folder } = env
  return {
    mode: verify === undefined ? 'unset' : verify === '' || verify === '0' ? 'plain' : 'verify',
    folder: folder || join(homedir(), '.docker'),
  }
}

export interface TlsFiles {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Read once and checked, so that what is wrong is said by the file's name and not by a handshake. */
export function readTlsFiles(folder: string): TlsFiles {
  const [ca, cert, key] = ['ca.pem', 'cert.pem', 'key.pem'].map((name) => readPem(join(folder, name))) as [
    string,
    string,
    string,
  ]
  checked(join(folder, 'ca.pem'), () => new X509Certificate(ca))
  const own = checked(join(folder, 'cert.pem'), () => new X509Certificate(cert))
  const secret = checked(join(folder, 'key.pem'), () => createPrivateKey(key))
  if (!own.checkPrivateKey(secret)) throw refused(`cert.pem and key.pem in ${folder} do not belong together.`)
  return { ca, cert, key }
}

function readPem(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw refused(`${file} cannot be read (${(error as Error).message}).`)
  }
}

function checked<T>(file: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw refused(`${file} is not what its name says (${(error as Error).message}).`)
  }
}

function refused(message: string): EngineError {
  return new EngineError('engine_unavailable', `Docker cannot be asked over TLS: ${message}`, {
    hint: 'Put ca.pem, cert.pem and key.pem, as made for this Docker, into one folder, and name it with DOCKER_CERT_PATH.',
  })
}
