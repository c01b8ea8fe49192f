import type { Client, ClientOptions } from '@stackquay/client'
import { type Config, configFile, readConfig } from './config.ts'
import { CliError, type Report } from './errors.ts'
import { exitCodes } from './exit-codes.ts'
import { jsonText } from './output/json.ts'
import { type Style, styleOf } from './output/style.ts'
import { defaultUrl, serviceUrl } from './service-url.ts'

/** The world a command sees. */
export interface World {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly now: () => number
  /** Aborts at the first Ctrl-C. */
  readonly interrupted: AbortSignal
  /** Hands signals of the process to a command, for which they then mean nothing but that. Answers how to give them back. */
  takeSignals<Name extends NodeJS.Signals>(names: readonly Name[], handle: (name: Name) => void): () => void
}

export interface GlobalFlags {
  readonly json?: boolean
  readonly quiet?: boolean
  readonly url?: string
}

export interface Context {
  readonly world: World
  readonly json: boolean
  readonly quiet: boolean
  /** Of standard output. */
  readonly style: Style
  /** Of standard error, where notes, plans, progress and errors go. */
  readonly noteStyle: Style
  readonly signal: AbortSignal
  config(): Promise<Config>
  serviceUrl(): Promise<string>
  client(): Promise<Client>
  /** For what needs no login. */
  publicClient(): Promise<Client>
  /** What `client()` is made of, for answers that are no JSON. */
  connection(): Promise<ClientOptions>
  /** The same without a login. */
  publicConnection(): Promise<ClientOptions>
  /** The answer of the command: JSON with --json, else the text. An empty text prints nothing. */
  result(value: unknown, text: () => string): void
  /** For people; not with --json or --quiet. */
  note(text: string): void
}

export function createContext(world: World, flags: GlobalFlags): Context {
  const json = flags.json === true
  const quiet = flags.quiet === true
  let config: Promise<Config> | null = null
  const readOnce = () => {
    config ??= readConfig(configFile(world.env))
    return config
  }
  const url = async () =>
    serviceUrl(flags.url ?? nonEmpty(world.env.STACKQUAY_URL) ?? (await readOnce()).url ?? defaultUrl)
  const connection = async () => {
    const baseUrl = await url()
    const token = nonEmpty(world.env.STACKQUAY_TOKEN) ?? (await readOnce()).tokens[baseUrl]
    if (token === undefined) throw notLoggedIn(baseUrl)
    return connectionOf(baseUrl, token)
  }
  return {
    world,
    json,
    quiet,
    style: styleOf(world.stdout, world.env),
    noteStyle: styleOf(world.stderr, world.env),
    signal: world.interrupted,
    config: readOnce,
    serviceUrl: url,
    connection,
    client: async () => createClientOf(await connection()),
    publicConnection: async () => connectionOf(await url()),
    publicClient: async () => createClientOf(await connectionOf(await url())),
    result: (value, text) => {
      const shown = json ? jsonText(value, 2) : text()
      if (shown !== '') world.stdout.write(`${shown}\n`)
    },
    note: (text) => {
      if (!json && !quiet) world.stderr.write(`${text}\n`)
    },
  }
}

export async function connect(baseUrl: string, token: string): Promise<Client> {
  return createClientOf(await connectionOf(baseUrl, token))
}

async function createClientOf(connection: ClientOptions): Promise<Client> {
  const { createClient } = await import('@stackquay/client')
  return createClient(connection)
}

async function connectionOf(baseUrl: string, token?: string): Promise<ClientOptions> {
  const { version } = await import('./version.ts')
  const identity = token === undefined ? {} : { token }
  return { baseUrl, ...identity, clientName: 'cli', userAgent: `stq/${version} node/${process.versions.node}` }
}

export function interruptedReport(): Report {
  const detail = 'Interrupted. The operation continues: stq operations'
  return {
    title: '',
    detail,
    hint: null,
    fields: [],
    excerpt: [],
    requestId: null,
    code: 'interrupted',
    exitCode: exitCodes.interrupted,
  }
}

function notLoggedIn(url: string): CliError {
  return new CliError(`Not logged in at ${url}.`, {
    exitCode: exitCodes.denied,
    hint: 'Log in with "stq login", or set STACKQUAY_TOKEN. Tokens are made in the web page: Settings → API tokens.',
  })
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text
}
