import { homedir } from 'node:os'
import { join } from 'node:path'
import { type EngineName, engineNames, Password, Username } from '@stackquay/contract'
import { readAddressRange } from '@stackquay/domain'
import { z } from 'zod'
import { Address, AddressOrOff } from './address-setting.ts'
import { absolute, ConfigError, fileText, parseKey, readImageMap, readRoots } from './config-values.ts'
import { type IsolationLevel, isolationLevels } from './isolation/level.ts'

export { ConfigError, parseKey, readImageMap, readRoots } from './config-values.ts'

const Text = z.string().min(1)

/** Every setting that comes from the environment, described once; the reference page is made from this. */
export const settings = {
  STACKQUAY_HOME: Text.optional().describe(
    'Folder of all state. Default: `~/.stackquay`; for root `/var/lib/stackquay`.',
  ),
  STACKQUAY_LISTEN: Address.default({ host: '127.0.0.1', port: 8700 }).describe(
    'Address of the page and the API. Default: `127.0.0.1:8700`.',
  ),
  STACKQUAY_PROXY_HTTP: AddressOrOff.default({ host: '127.0.0.1', port: 8780 }).describe(
    'Address under which projects answer, or `off`. Default: `127.0.0.1:8780`.',
  ),
  STACKQUAY_PROXY_HTTPS: AddressOrOff.default({ host: '127.0.0.1', port: 8743 }).describe(
    'Address under which projects with a certificate answer by https, or `off`. Default: `127.0.0.1:8743`.',
  ),
  STACKQUAY_TLS_LOCAL: z
    .enum(['on', 'off'])
    .default('off')
    .describe(
      'Whether a certificate authority of this instance makes [certificates](https.md) for names of this machine. Default: `off`.',
    ),
  STACKQUAY_TLS_REDIRECT: z
    .enum(['on', 'off'])
    .default('on')
    .describe('Whether requests over http are sent on to https where there is a certificate. Default: `on`.'),
  STACKQUAY_TLS_HSTS_SECONDS: z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number of seconds')
    .transform(Number)
    .refine((seconds) => seconds <= 63_072_000, 'must be at most 63072000')
    .default(0)
    .describe(
      'How long browsers are told to use https alone, in seconds; never for the authority of this instance. `0`: they are not told. Default: `0`.',
    ),
  STACKQUAY_SSH: AddressOrOff.default({ host: '127.0.0.1', port: 8722 }).describe(
    'Address of the SSH and SFTP service, or `off`. Default: `127.0.0.1:8722`.',
  ),
  STACKQUAY_ENGINE: z
    .enum(['auto', ...engineNames])
    .default('auto')
    .describe(
      'What new projects run on, unless they name an engine. Default: `auto`, which is `docker` when Docker answers at the first start, else `native`; what was chosen then stays.',
    ),
  DOCKER_HOST: Text.optional().describe(
    'Where Docker answers: `unix:///path` or `tcp://host:port`. Default: `unix:///var/run/docker.sock`.',
  ),
  DOCKER_TLS_VERIFY: Text.optional().describe(
    'For a Docker at `tcp://`: any text has it asked over TLS, `0` and the empty one without. Default: another machine is not asked without.',
  ),
  DOCKER_CERT_PATH: Text.optional().describe(
    'Folder with `ca.pem`, `cert.pem` and `key.pem` for that. Default: `.docker` in your own home.',
  ),
  STACKQUAY_IMAGE_MAP: Text.optional().describe(
    'Images that take the place of others, `from=to` with commas between, or `@file` with a JSON object. `postgres:18=db.test/postgres:18` is one image, `docker.io/*=mirror.test/*` all of a registry. Default: none.',
  ),
  STACKQUAY_REGISTRY_AUTH_FILE: Text.optional().describe(
    'File with the credentials of registries, in the format of Docker’s `config.json`, which nobody else may read. It is read at every pull. Default: none.',
  ),
  STACKQUAY_PROJECTS_DIR: Text.optional().describe(
    'Folder where new projects get their files. Default: `projects` in the home.',
  ),
  STACKQUAY_ALLOWED_ROOTS: Text.optional().describe(
    'Folders, separated by colons, from which existing folders may be taken as projects. Default: the projects folder and your own home; for root `/home`, `/srv` and `/var/www`.',
  ),
  STACKQUAY_BASE_DOMAIN: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, 'must be a domain name in lower case')
    .default('localhost')
    .describe(
      'Projects answer at `<slug>.<base domain>`. Default: `localhost`, which reaches this machine in every browser.',
    ),
  STACKQUAY_PORT_RANGE: z
    .string()
    .regex(/^\d{1,5}-\d{1,5}$/, 'must be from-to')
    .transform((text) => {
      const [from, to] = text.split('-').map(Number)
      return { from: from!, to: to! }
    })
    .refine(({ from, to }) => from >= 1024 && to <= 65535 && from <= to, 'must lie in 1024-65535')
    .default({ from: 20000, to: 20999 })
    .describe('Ports of this machine that workloads get. Default: `20000-20999`.'),
  STACKQUAY_PUBLISH_ADDRESS: z
    .enum(['127.0.0.1', '0.0.0.0'])
    .default('127.0.0.1')
    .describe(
      'Where ports are published that a project exposes. Default: `127.0.0.1`; `0.0.0.0` publishes them to the network.',
    ),
  STACKQUAY_ADMIN_USER: Text.optional().describe(
    'Makes the first administrator at the first start, without the set-up page.',
  ),
  STACKQUAY_ADMIN_PASSWORD: Text.optional().describe('The first administrator’s password.'),
  STACKQUAY_ADMIN_PASSWORD_FILE: Text.optional().describe('File that holds it.'),
  STACKQUAY_SECRET_KEY: Text.optional().describe(
    'Key that seals secrets: 32 bytes as base64 or hex. Default: a file `secret.key` in the home, made at the first start.',
  ),
  STACKQUAY_SECRET_KEY_FILE: Text.optional().describe('File that holds the key.'),
  STACKQUAY_RESTORE: Text.optional().describe(
    'File with a backup of an instance, as it was downloaded, that a start on a home without a database restores; on one that has a database the service does not start. Needs the secret key that it was made with. Default: none.',
  ),
  STACKQUAY_LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('How much the service writes to its own log. Default: `info`.'),
  STACKQUAY_LOG_MAX_MB: z
    .string()
    .regex(/^\d{1,6}$/, 'must be a whole number of megabytes')
    .transform(Number)
    .refine((megabytes) => megabytes >= 1 && megabytes <= 100_000, 'must lie in 1-100000')
    .default(256)
    .describe('How much is kept of what one workload prints; the oldest lines go first. In MB. Default: `256`.'),
  STACKQUAY_LOG_MAX_DAYS: z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number of days')
    .transform(Number)
    .refine((days) => days >= 1, 'must be at least 1')
    .default(14)
    .describe('How long what a workload prints is kept at most, in days. Default: `14`.'),
  STACKQUAY_RUN_AS: z
    .string()
    .regex(/^\d+:\d+$/, 'must be uid:gid')
    .transform((text) => {
      const [uid, gid] = text.split(':').map(Number)
      return { uid: uid!, gid: gid! }
    })
    .refine(({ uid }) => uid !== 0, 'must not be root')
    .optional()
    .describe(
      'One user and group for the programs of all projects, `uid:gid`, when the service runs as root: level `shared`. Default: a user for each project.',
    ),
  STACKQUAY_ISOLATION: z
    .enum(['auto', ...isolationLevels])
    .default('auto')
    .describe(
      'How projects are kept apart: `user` (a system user for each; the service runs as root), `sandbox` (bubblewrap in addition), `shared` (one user for all). Default: `auto`, the strongest that works at the first start; it stays, and never falls by itself.',
    ),
  STACKQUAY_PROJECT_UIDS: z
    .string()
    .regex(/^\d{4,9}-\d{4,9}$/, 'must be two uids with a hyphen between')
    .transform((text) => {
      const [from, to] = text.split('-').map(Number)
      return { from: from!, to: to! }
    })
    .refine(({ from, to }) => from >= 1000 && from <= to && to < 2 ** 31, 'must begin at 1000 or above, lowest first')
    .default({ from: 50_000, to: 59_999 })
    .describe('Uids for the users of projects. Default: `50000-59999`.'),
  STACKQUAY_SHARE_SSH: z
    .string()
    .regex(
      /^[a-z_][a-z0-9_.-]*@(\[[0-9a-f:]+\]|[a-z0-9][a-z0-9.-]*)(:\d{1,5})?$/i,
      'must be user@host or user@host:port',
    )
    .transform((text) => {
      const [, user, host, port] = /^([^@]+)@(\[.+\]|[^:]+)(?::(\d+))?$/.exec(text)!
      return { user: user!, host: host!.replace(/^\[|\]$/g, ''), port: Number(port ?? 22) }
    })
    .refine(({ port }) => port >= 1 && port <= 65535, 'has a port that is none')
    .optional()
    .describe(
      'Server of yours through whose SSH service shares can be shown to the world, `user@host` or `user@host:port`. Default: none.',
    ),
  STACKQUAY_RUN_MAX_MINUTES: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a whole number of minutes')
    .transform(Number)
    .refine((minutes) => minutes >= 1 && minutes <= 10_080, 'must lie in 1-10080')
    .default(60)
    .describe('Minutes after which a run of an action or a test suite is ended. Default: `60`.'),
  STACKQUAY_TERMINAL_IDLE_HOURS: z
    .string()
    .regex(/^\d{1,4}(\.\d{1,4})?$/, 'must be a number of hours')
    .transform(Number)
    .refine((hours) => hours >= 0.001 && hours <= 8760, 'must lie in 0.001-8760')
    .default(12)
    .describe('Hours without input and output after which a terminal is ended. Default: `12`.'),
  STACKQUAY_AWAKE_MAX_MB: z
    .string()
    .regex(/^\d{1,8}$/, 'must be a whole number of megabytes')
    .transform(Number)
    .refine((megabytes) => megabytes >= 16, 'must be at least 16')
    .optional()
    .describe(
      'Memory of all programs of projects together, in MB, above which [projects that sleep](sleep.md#a-memory-budget) do so early. Default: none.',
    ),
  STACKQUAY_TRASH_DAYS: z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number of days')
    .transform(Number)
    .refine((days) => days <= 3650, 'must be at most 3650')
    .default(30)
    .describe('How many days deleted projects and data stay in the trash; `0`: a minute at most. Default: `30`.'),
  STACKQUAY_SESSION_IDLE_HOURS: z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number of hours')
    .transform(Number)
    .refine((hours) => hours >= 1 && hours <= 8760, 'must lie in 1-8760')
    .default(12)
    .describe('Hours without use after which a browser session ends. Default: `12`.'),
  STACKQUAY_SESSION_MAX_DAYS: z
    .string()
    .regex(/^\d{1,3}$/, 'must be a whole number of days')
    .transform(Number)
    .refine((days) => days >= 1 && days <= 365, 'must lie in 1-365')
    .default(7)
    .describe('Days after which a browser session ends, used or not. Default: `7`.'),
  STACKQUAY_TRUSTED_PROXIES: z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    )
    .refine(
      (parts) => parts.every((part) => readAddressRange(part).ok),
      'must be addresses and CIDR blocks, with commas',
    )
    .default([])
    .describe(
      'Addresses and CIDR blocks of proxies in front, with commas between, whose `X-Forwarded-*` headers are believed. Default: none.',
    ),
  STACKQUAY_PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Address of the page as people reach it, when another proxy stands in front. Default: the listen address.',
    ),
} as const

const Schema = z.object(settings)

export interface Config {
  /** The variables that were set: they win over what is stored. */
  readonly given: ReadonlySet<string>
  readonly home: string
  readonly listen: { readonly host: string; readonly port: number }
  readonly proxy: { readonly host: string; readonly port: number } | null
  /** Where projects answer over TLS; null where the proxy is off too. */
  readonly proxyHttps: { readonly host: string; readonly port: number } | null
  readonly tls: { readonly local: boolean; readonly redirect: boolean; readonly hstsSeconds: number }
  readonly ssh: { readonly host: string; readonly port: number } | null
  /** What new projects run on; `auto` is decided at the first start. */
  readonly engine: 'auto' | EngineName
  /** As in DOCKER_HOST; null for Docker's own default. */
  readonly dockerHost: string | null
  /** What takes the place of an image: as entries `from=to`, and asked of one. */
  readonly imageMap: readonly string[]
  readonly imageOf: (reference: string) => string
  readonly registryAuthFile: string | null
  readonly projectsDir: string
  readonly allowedRoots: readonly string[]
  readonly baseDomain: string
  readonly portRange: { readonly from: number; readonly to: number }
  readonly publishAddress: '127.0.0.1' | '0.0.0.0'
  readonly admin: { readonly username: string; readonly password: string } | null
  /** 32 bytes, or null for the generated file. */
  readonly secretKey: Buffer | null
  /** Archive that is restored into an empty home. */
  readonly restore: string | null
  readonly logLevel: string
  /** What is kept of what each workload prints. */
  readonly logs: { readonly maxBytes: number; readonly maxDays: number }
  readonly isolation: 'auto' | IsolationLevel
  readonly projectUids: { readonly from: number; readonly to: number }
  readonly runAs: { readonly uid: number; readonly gid: number } | null
  readonly runMaxMinutes: number
  readonly shareSsh: { readonly user: string; readonly host: string; readonly port: number } | null
  readonly terminalIdleHours: number
  /** What the programs of projects may take before those that may sleep do so early; null: however much. */
  readonly awakeMaxBytes: number | null
  readonly trashDays: number
  /** How long a browser session lasts without use, and at most. */
  readonly sessions: { readonly idleMs: number; readonly ageMs: number }
  readonly trustedProxies: readonly string[]
  readonly publicUrl: string
}

export function readConfig(env: NodeJS.ProcessEnv): Config {
  const known = Object.fromEntries(
    Object.keys(settings).map((name) => [name, env[name] === '' ? undefined : env[name]]),
  )
  const parsed = Schema.safeParse(known)
  const faults = parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`)
  for (const name of Object.keys(env)) {
    if (name.startsWith('STACKQUAY_') && !(name in settings) && !clientOnly.has(name))
      faults.push(`${name} is not a setting of the service`)
  }
  if (!parsed.success || faults.length > 0)
    throw new ConfigError(`The environment is not valid:\n  ${faults.join('\n  ')}`)

  const values = parsed.data
  const root = process.getuid?.() === 0
  const home = absolute(values.STACKQUAY_HOME ?? (root ? '/var/lib/stackquay' : join(homedir(), '.stackquay')))
  const projectsDir = absolute(values.STACKQUAY_PROJECTS_DIR ?? join(home, 'projects'))
  const password =
    values.STACKQUAY_ADMIN_PASSWORD ?? fileText(values.STACKQUAY_ADMIN_PASSWORD_FILE, 'STACKQUAY_ADMIN_PASSWORD_FILE')
  if ((values.STACKQUAY_ADMIN_USER === undefined) !== (password === undefined)) {
    throw new ConfigError(
      'STACKQUAY_ADMIN_USER and STACKQUAY_ADMIN_PASSWORD (or …_FILE) go together: set both or none.',
    )
  }
  if (values.STACKQUAY_ADMIN_USER !== undefined) {
    const name = Username.safeParse(values.STACKQUAY_ADMIN_USER)
    const text = Password.safeParse(password)
    if (!name.success) throw new ConfigError(`STACKQUAY_ADMIN_USER ${name.error.issues[0]?.message}.`)
    if (!text.success) throw new ConfigError(`The first administrator’s password ${text.error.issues[0]?.message}.`)
  }
  const key = values.STACKQUAY_SECRET_KEY ?? fileText(values.STACKQUAY_SECRET_KEY_FILE, 'STACKQUAY_SECRET_KEY_FILE')
  return {
    given: new Set(Object.keys(known).filter((name) => known[name] !== undefined)),
    home,
    listen: values.STACKQUAY_LISTEN,
    proxy: values.STACKQUAY_PROXY_HTTP,
    proxyHttps: values.STACKQUAY_PROXY_HTTP === null ? null : values.STACKQUAY_PROXY_HTTPS,
    tls: {
      local: values.STACKQUAY_TLS_LOCAL === 'on',
      redirect: values.STACKQUAY_TLS_REDIRECT === 'on',
      hstsSeconds: values.STACKQUAY_TLS_HSTS_SECONDS,
    },
    ssh: values.STACKQUAY_SSH,
    engine: values.STACKQUAY_ENGINE,
    dockerHost: values.DOCKER_HOST ?? null,
    ...readImageMap(values.STACKQUAY_IMAGE_MAP),
    registryAuthFile:
      values.STACKQUAY_REGISTRY_AUTH_FILE === undefined ? null : absolute(values.STACKQUAY_REGISTRY_AUTH_FILE),
    projectsDir,
    allowedRoots: [projectsDir, ...readRoots(values.STACKQUAY_ALLOWED_ROOTS)],
    baseDomain: values.STACKQUAY_BASE_DOMAIN,
    portRange: values.STACKQUAY_PORT_RANGE,
    publishAddress: values.STACKQUAY_PUBLISH_ADDRESS,
    admin:
      values.STACKQUAY_ADMIN_USER === undefined ? null : { username: values.STACKQUAY_ADMIN_USER, password: password! },
    secretKey: key === undefined ? null : parseKey(key),
    restore: values.STACKQUAY_RESTORE === undefined ? null : absolute(values.STACKQUAY_RESTORE),
    logLevel: values.STACKQUAY_LOG_LEVEL,
    logs: { maxBytes: values.STACKQUAY_LOG_MAX_MB * 1024 * 1024, maxDays: values.STACKQUAY_LOG_MAX_DAYS },
    isolation: values.STACKQUAY_ISOLATION,
    projectUids: values.STACKQUAY_PROJECT_UIDS,
    runAs: values.STACKQUAY_RUN_AS ?? null,
    runMaxMinutes: values.STACKQUAY_RUN_MAX_MINUTES,
    shareSsh: values.STACKQUAY_SHARE_SSH ?? null,
    terminalIdleHours: values.STACKQUAY_TERMINAL_IDLE_HOURS,
    awakeMaxBytes: values.STACKQUAY_AWAKE_MAX_MB === undefined ? null : values.STACKQUAY_AWAKE_MAX_MB * 1024 * 1024,
    trashDays: values.STACKQUAY_TRASH_DAYS,
    sessions: {
      idleMs: values.STACKQUAY_SESSION_IDLE_HOURS * 3_600_000,
      ageMs: values.STACKQUAY_SESSION_MAX_DAYS * 86_400_000,
    },
    trustedProxies: values.STACKQUAY_TRUSTED_PROXIES,
    publicUrl: values.STACKQUAY_PUBLIC_URL?.replace(/\/$/, '') ?? urlOfListen(values.STACKQUAY_LISTEN),
  }
}

/** Settings that share the prefix and belong to the command line. */
const clientOnly = new Set(['STACKQUAY_URL', 'STACKQUAY_TOKEN', 'STACKQUAY_NODE'])

/** Where the page is when no other address is named. */
export function urlOfListen({ host, port }: Config['listen']): string {
  return `http://${urlHost(host)}:${port}`
}

function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
