import { readFile, stat } from 'node:fs/promises'
import { EngineError } from '@stackquay/engine-api'

/** Who asks a registry. With a token the password is empty. */
export interface RegistryAuth {
  readonly username: string
  readonly password: string
  readonly identitytoken?: string
}

/**
 * The credentials of registries, from a file in the format of Docker's own `config.json`. It is read at each question, so
 * that new credentials hold for the next pull; then those of the settings. Null for a registry of which neither says anything, which is
 * asked without any.
 */
export function registryAuth(file: string | null, stored: RegistryLogins = async () => null): RegistryLogins {
  return async (registryHost) => (await fromFile(file, registryHost)) ?? (await stored(hostOf(registryHost)))
}

/** Who asks the registry of this host; null: nobody in particular. */
export type RegistryLogins = (registryHost: string) => Promise<RegistryAuth | null>

async function fromFile(file: string | null, registryHost: string): Promise<RegistryAuth | null> {
  if (file === null) return null
  const config = await readConfigFile(file)
  const helper = namedFor(config.credHelpers, registryHost)
  if (helper !== undefined) throw helpersAreRefused(file, String(helper), registryHost)
  const entry = namedFor(config.auths, registryHost)
  if (entry === undefined) return null
  const auth = isMap(entry) ? authOf(entry) : null
  if (auth !== null) return auth
  // `docker login` leaves an empty entry when a helper keeps the secret.
  if (typeof config.credsStore === 'string') throw helpersAreRefused(file, config.credsStore, registryHost)
  throw unusable(file, `holds no user name and password for ${registryHost}`, `Log in again, or remove its entry.`)
}

/** What is wrong with the file, for diagnostics; null when it can be used or none is named. */
export async function registryAuthFault(file: string | null): Promise<EngineError | null> {
  if (file === null) return null
  return readConfigFile(file).then(
    () => null,
    (error: EngineError) => error,
  )
}

type Fields = Readonly<Record<string, unknown>>

async function readConfigFile(file: string): Promise<Fields> {
  let text: string
  try {
    const { mode } = await stat(file)
    if ((mode & 0o027) !== 0)
      throw unusable(file, 'can be read or changed by others on this machine', `Run: chmod 600 ${file}`)
    text = await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof EngineError) throw error
    throw unusable(file, `cannot be read (${(error as NodeJS.ErrnoException).code})`, 'Put it there again.')
  }
  const config = parsed(text)
  if (config === null)
    throw unusable(file, 'is not a JSON object', 'It has the format of the config.json that "docker login" writes.')
  return config
}

/** What a parser says of a broken file may quote it, so it is not passed on. */
function parsed(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    return isMap(value) ? value : null
  } catch {
    return null
  }
}

/** Keys are host names, or URLs as Docker Hub's. */
function namedFor(entries: unknown, registryHost: string): unknown {
  if (!isMap(entries)) return undefined
  const wanted = hostOf(registryHost)
  return Object.entries(entries).find(([name]) => hostOf(name) === wanted)?.[1]
}

/** One name for each registry. */
export function hostOf(name: string): string {
  const host = name.replace(/^https?:\/\//, '').replace(/\/.*$/, '')
  // Docker Hub has several host names, and its own tools write one that images do not.
  return /^(.+\.)?docker\.io$/i.test(host) ? 'docker.io' : host.toLowerCase()
}

function authOf({ username, password, auth, identitytoken }: Fields): RegistryAuth | null {
  const decoded = typeof auth === 'string' ? Buffer.from(auth, 'base64').toString('utf8').replace(/\0+$/, '') : ''
  const cut = decoded.indexOf(':')
  const user = typeof username === 'string' ? username : cut > 0 ? decoded.slice(0, cut) : null
  if (typeof identitytoken === 'string' && identitytoken !== '')
    return { username: user ?? '<token>', password: '', identitytoken }
  const secret = typeof password === 'string' ? password : cut > 0 ? decoded.slice(cut + 1) : ''
  return user === null || secret === '' ? null : { username: user, password: secret }
}

function helpersAreRefused(file: string, helper: string, registryHost: string): EngineError {
  return unusable(
    file,
    `keeps the credentials of ${registryHost} with the helper "${helper}", which the service does not run`,
    'Write user name and password (or an identity token) into a file of their own: docker --config FOLDER login.',
  )
}

function unusable(file: string, what: string, hint: string): EngineError {
  return new EngineError('image_unavailable', `The file of registry credentials, ${file}, ${what}.`, { hint })
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
