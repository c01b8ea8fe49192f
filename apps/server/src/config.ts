import { homedir } from 'node:os'
import { join } from 'node:path'
import { type EngineName, Password, Username } from '@stackquay/contract'
import type { SecondFactorRule } from '@stackquay/domain'
import { z } from 'zod'
import { absolute, ConfigError, fileText, parseKey, readImageMap, readRoots } from './config-values.ts'
import { settings } from './environment.ts'
import type { IsolationLevel } from './isolation/level.ts'
import { urlHost } from './settings/url-host.ts'

export { ConfigError, parseKey, readImageMap, readRoots } from './config-values.ts'

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
  /** Where lines of logs are sent, and of which projects (none named: all). */
  readonly logExport: {
    readonly url: string | null
    readonly projects: readonly string[]
    readonly headersFile: string | null
  }
  readonly isolation: 'auto' | IsolationLevel
  readonly projectUids: { readonly from: number; readonly to: number }
  readonly runAs: { readonly uid: number; readonly gid: number } | null
  readonly runMaxMinutes: number
  /** Ways in which projects may be shared. */
  readonly shareProviders: readonly string[]
  readonly shareSsh: { readonly user: string; readonly host: string; readonly port: number } | null
  readonly terminalIdleHours: number
  /** What the programs of projects may take before those that may sleep do so early; null: however much. */
  readonly awakeMaxBytes: number | null
  readonly trashDays: number
  /** The schedule that new projects begin with. */
  readonly newBackups: {
    readonly cron: string | null
    readonly timezone: string
    readonly targets: readonly string[]
  }
  /** How long entries of the audit log are kept; null for ever. */
  readonly auditDays: number | null
  readonly metricsDays: number
  /** How long a browser session lasts without use, and at most. */
  readonly sessions: { readonly idleMs: number; readonly ageMs: number }
  readonly requireSecondFactor: SecondFactorRule
  readonly trustedProxies: readonly string[]
  readonly publicUrl: string
  /** Where the newest version is told; null: nobody is asked. */
  readonly updateUrl: string | null
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
    admin: firstAdminOf(values),
    secretKey: key === undefined ? null : parseKey(key),
    restore: values.STACKQUAY_RESTORE === undefined ? null : absolute(values.STACKQUAY_RESTORE),
    logLevel: values.STACKQUAY_LOG_LEVEL,
    logs: { maxBytes: values.STACKQUAY_LOG_MAX_MB * 1024 * 1024, maxDays: values.STACKQUAY_LOG_MAX_DAYS },
    logExport: {
      url: values.STACKQUAY_LOG_EXPORT_URL ?? null,
      projects: values.STACKQUAY_LOG_EXPORT_PROJECTS,
      headersFile:
        values.STACKQUAY_LOG_EXPORT_HEADERS_FILE === undefined
          ? null
          : absolute(values.STACKQUAY_LOG_EXPORT_HEADERS_FILE),
    },
    isolation: values.STACKQUAY_ISOLATION,
    projectUids: values.STACKQUAY_PROJECT_UIDS,
    runAs: values.STACKQUAY_RUN_AS ?? null,
    runMaxMinutes: values.STACKQUAY_RUN_MAX_MINUTES,
    shareProviders: values.STACKQUAY_SHARE_PROVIDERS,
    shareSsh: values.STACKQUAY_SHARE_SSH ?? null,
    terminalIdleHours: values.STACKQUAY_TERMINAL_IDLE_HOURS,
    awakeMaxBytes: values.STACKQUAY_AWAKE_MAX_MB === undefined ? null : values.STACKQUAY_AWAKE_MAX_MB * 1024 * 1024,
    trashDays: values.STACKQUAY_TRASH_DAYS,
    newBackups: {
      cron: values.STACKQUAY_BACKUP_CRON ?? null,
      timezone: values.STACKQUAY_BACKUP_TIMEZONE,
      targets: values.STACKQUAY_BACKUP_TARGETS,
    },
    auditDays: values.STACKQUAY_AUDIT_MAX_DAYS ?? null,
    metricsDays: values.STACKQUAY_METRICS_MAX_DAYS,
    sessions: {
      idleMs: values.STACKQUAY_SESSION_IDLE_HOURS * 3_600_000,
      ageMs: values.STACKQUAY_SESSION_MAX_DAYS * 86_400_000,
    },
    requireSecondFactor: values.STACKQUAY_REQUIRE_SECOND_FACTOR,
    trustedProxies: values.STACKQUAY_TRUSTED_PROXIES,
    updateUrl: values.STACKQUAY_UPDATE_URL ?? null,
    publicUrl: values.STACKQUAY_PUBLIC_URL?.replace(/\/$/, '') ?? urlOfListen(values.STACKQUAY_LISTEN),
  }
}

function firstAdminOf(values: z.output<typeof Schema>): Config['admin'] {
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
  return values.STACKQUAY_ADMIN_USER === undefined
    ? null
    : { username: values.STACKQUAY_ADMIN_USER, password: password! }
}

/** Settings that share the prefix and belong to the command line. */
const clientOnly = new Set(['STACKQUAY_URL', 'STACKQUAY_TOKEN', 'STACKQUAY_NODE'])

/** Where the page is when no other address is named. */
export function urlOfListen({ host, port }: Config['listen']): string {
  return `http://${urlHost(host)}:${port}`
}
