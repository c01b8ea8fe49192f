import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { CliError } from './errors.ts'
import { exitCodes } from './exit-codes.ts'

/** What `stq login` remembers. A token belongs to the URL it was made for and is never sent to another. */
export interface Config {
  /** The service that commands talk to; null before the first login. */
  readonly url: string | null
  readonly tokens: Readonly<Record<string, string>>
}

export function configFile(env: NodeJS.ProcessEnv): string {
  const home = env.XDG_CONFIG_HOME
  // The XDG specification: a relative path is to be ignored.
  const base = home?.startsWith('/') ? home : join(env.HOME ?? homedir(), '.config')
  return join(base, 'stackquay', 'config.json')
}

export async function readConfig(file: string): Promise<Config> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { url: null, tokens: {} }
    throw unreadable(file, error)
  }
  try {
    const { url, tokens } = JSON.parse(text) as Partial<Config>
    const pairs = Object.entries(tokens ?? {}).filter(([, token]) => typeof token === 'string')
    return { url: typeof url === 'string' ? url : null, tokens: Object.fromEntries(pairs) }
  } catch (error) {
    throw unreadable(file, error)
  }
}

/** Readable by the owner alone, and never half written. */
export async function writeConfig(file: string, config: Config): Promise<void> {
  const folder = dirname(file)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}`
  try {
    await writeFile(draft, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
    await chmod(draft, 0o600)
    await rename(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
}

export function withLogin(config: Config, url: string, token: string): Config {
  return { url, tokens: { ...config.tokens, [url]: token } }
}

export function withoutLogin(config: Config, url: string): Config {
  const { [url]: _gone, ...tokens } = config.tokens
  return { url: config.url === url ? null : config.url, tokens }
}

function unreadable(file: string, cause: unknown): CliError {
  const detail = cause instanceof Error ? cause.message : String(cause)
  return new CliError(`${file} cannot be read: ${detail}`, {
    exitCode: exitCodes.failed,
    hint: 'Remove it, and log in again with: stq login',
    cause,
  })
}
