import { createHash } from 'node:crypto'
import { connect as connectSocket, type LookupFunction } from 'node:net'
import type { Client, ConnectConfig, ServerHostKeyAlgorithm, SFTPWrapper } from 'ssh2'
import { TargetError } from '../target.ts'

export interface SftpSettings {
  readonly host: string
  readonly port: number
  readonly user: string
  /** A folder that is there; relative to where the user is after the login. */
  readonly path: string
  /** `ssh-ed25519 SHA256:…`, as `ssh-keygen -l` prints it: the key that the machine must show. Null: whichever, to learn it. */
  readonly hostKey: string | null
  /** In place of the system’s, where not every address may be connected to. */
  readonly lookup?: LookupFunction
}

export interface SftpCredentials {
  readonly password?: string
  /** In OpenSSH’s or PEM form. */
  readonly privateKey?: string
  readonly privateKeyPassphrase?: string
}

const readyMs = 20_000

/** One that is logged in. Everything that goes wrong with it later arrives at `onLost`. */
export async function connectSftp(
  settings: SftpSettings,
  credentials: SftpCredentials,
  onLost: () => void,
): Promise<{ readonly client: Client; readonly sftp: SFTPWrapper }> {
  const { Client } = await import('ssh2')
  const client = new Client()
  const shown: { key: string | null } = { key: null }
  const { promise, resolve, reject } = Promise.withResolvers<SFTPWrapper>()
  client
    // Every request that is under way listens to its end.
    .setMaxListeners(0)
    .on('ready', () => client.sftp((error, sftp) => (error === undefined ? resolve(sftp) : reject(error))))
    .on('error', (error) => {
      reject(error)
      onLost()
    })
    .on('close', () => {
      reject(new TargetError('unreachable', `${settings.host} closed the connection.`))
      onLost()
    })
  try {
    client.connect(configOf(settings, credentials, shown))
    return { client, sftp: await promise }
  } catch (error) {
    client.destroy()
    throw asLoginError(settings, shown.key, error)
  }
}

/** What the machine shows, before anything is told to it. */
export async function readHostKey(settings: Pick<SftpSettings, 'host' | 'port' | 'lookup'>): Promise<string> {
  const { Client } = await import('ssh2')
  const client = new Client()
  const shown: { key: string | null } = { key: null }
  const { promise, resolve } = Promise.withResolvers<unknown>()
  client.on('error', resolve).on('close', () => resolve(new Error('The connection was closed.')))
  try {
    // No key has this text, so the login does not begin.
    client.connect(configOf({ ...settings, user: 'nobody', hostKey: 'none' }, {}, shown))
    const error = await promise
    if (shown.key !== null) return shown.key
    throw asLoginError({ ...settings, hostKey: null }, null, error)
  } finally {
    client.destroy()
  }
}

function configOf(
  { host, port, user, hostKey, lookup }: Omit<SftpSettings, 'path'>,
  { password, privateKey, privateKeyPassphrase }: SftpCredentials,
  shown: { key: string | null },
): ConnectConfig {
  const types = algorithmsOf(hostKey)
  // With Nagle’s algorithm a put is ten times slower.
  const sock = connectSocket({ host, port, noDelay: true, ...(lookup === undefined ? {} : { lookup }) })
  return {
    sock,
    username: user,
    ...(password === undefined ? {} : { password }),
    ...(privateKey === undefined ? {} : { privateKey }),
    ...(privateKeyPassphrase === undefined ? {} : { passphrase: privateKeyPassphrase }),
    readyTimeout: readyMs,
    keepaliveInterval: 15_000,
    keepaliveCountMax: 3,
    ...(types === null ? {} : { algorithms: { serverHostKey: [...types] } }),
    hostVerifier: (key: Buffer) => {
      shown.key = textOf(key)
      return hostKey === null || isKey(shown.key, hostKey)
    },
  }
}

/** Known with its type or by its fingerprint alone. */
function isKey(shown: string, known: string): boolean {
  return shown === known || shown.split(' ')[1] === known
}

/** A machine has keys of several kinds, and must show the one that is known. */
function algorithmsOf(hostKey: string | null): readonly ServerHostKeyAlgorithm[] | null {
  const type = hostKey?.split(' ')[0]
  if (type === 'ssh-rsa') return ['rsa-sha2-512', 'rsa-sha2-256']
  return type === undefined || !/^(ssh-ed25519|ecdsa-sha2-nistp(256|384|521))$/.test(type)
    ? null
    : [type as ServerHostKeyAlgorithm]
}

/** RFC 4253, section 6.6: a key begins with its type as a string. */
function textOf(key: Buffer): string {
  const type = key.subarray(4, 4 + key.readUInt32BE(0)).toString('latin1')
  return `${type} SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
}

function asLoginError(
  { host, hostKey }: Pick<SftpSettings, 'host' | 'hostKey'>,
  shown: string | null,
  error: unknown,
): TargetError {
  if (error instanceof TargetError) return error
  const { level, message = '' } = error as { readonly level?: string; readonly message?: string }
  const cause = { cause: error }
  if (hostKey !== null && shown !== null && !isKey(shown, hostKey))
    return new TargetError('host_key', `${host} shows the key ${shown}, and is known by ${hostKey}.`, cause)
  // Another kind of key than the known one: it has none of that kind any more.
  if (hostKey !== null && /no matching host key/i.test(message))
    return new TargetError('host_key', `${host} has no key of the kind of ${hostKey} any more.`, cause)
  if (level === 'client-authentication' || /authentication method/i.test(message))
    return new TargetError('refused', `${host} refuses the user or the credentials.`, cause)
  if (/parse privateKey|passphrase/i.test(message))
    return new TargetError('refused', 'The private key cannot be read: its form or its passphrase is wrong.', cause)
  if (/open failed|subsystem/i.test(message)) return new TargetError('refused', `${host} offers no SFTP.`, cause)
  return new TargetError('unreachable', `${host} cannot be reached: ${message.slice(0, 200)}`, cause)
}
